import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { executionKey, type Held, type Roster } from './held.js';
import { type Setbacks } from './setbacks.js';

/** Executions that have been found, taken in the order of finding when there is room. */
export interface Crew {
  /** Takes an execution, or keeps it until there is room; does nothing with one that is known. */
  offer(execution: Execution): void;
  /** Ends an execution, whether it is walked here or nowhere. */
  abort(execution: Execution): void;
  /** Takes what is kept, as far as there is room. */
  fill(): void;
  /** How many found executions wait for room, or for another attempt. */
  pending(): number;
  /** Goes up with whatever the crew does. */
  activity(): number;
  noteActivity(): void;
  /** Resolves when every walk has ended. */
  settled(): Promise<void>;
}

type CrewNeeds = {
  readonly roster: Roster;
  readonly setbacks: Setbacks;
  readonly room: number;
  readonly walk: (held: Held, execution: Execution) => Promise<void>;
  readonly onEnd: () => void;
};

const abortCauseOf = (execution: Execution): string => {
  const result = execution.closure?.outputResult;
  return result?.case === 'abortMetadata' ? result.value.cause : '';
};

export const createCrew = ({ roster, setbacks, room, walk, onEnd }: CrewNeeds): Crew => {
  const backlog = new Map<string, Execution>();
  const walks = new Set<Promise<void>>();
  let activity = 0;

  const fill = (): void => {
    let free = room - roster.busy();
    for (const [key, execution] of backlog) {
      if (free-- <= 0) return;
      take(key, execution);
    }
  };

  const end = (key: string, execution: Execution): void => {
    activity++;
    roster.remove(key);
    const parent = executionKey(execution.spec?.metadata?.parentNodeExecution?.executionId);
    roster.all.get(parent)?.wake();
    fill();
    onEnd();
  };

  const take = (key: string, execution: Execution): Held => {
    activity++;
    backlog.delete(key);
    const held = roster.add(key);
    const walking = walk(held, execution)
      .then(
        () => setbacks.forget(key),
        (error: unknown) => setbacks.note(key, error),
      )
      .finally(() => {
        walks.delete(walking);
        end(key, execution);
      });
    walks.add(walking);
    return held;
  };

  return {
    fill,
    offer: (execution) => {
      const key = executionKey(execution.id);
      if (!roster.all.has(key) && !setbacks.holdsBack(key)) backlog.set(key, execution);
    },
    abort: (execution) => {
      const key = executionKey(execution.id);
      const held = roster.all.get(key) ?? (setbacks.holdsBack(key) ? undefined : take(key, execution));
      if (!held) return;
      held.abortCause ??= abortCauseOf(execution);
      held.wake();
    },
    pending: () => backlog.size + setbacks.pending(),
    activity: () => activity,
    noteActivity: () => {
      activity++;
    },
    settled: async () => {
      while (walks.size > 0) await Promise.all(walks);
    },
  };
};
