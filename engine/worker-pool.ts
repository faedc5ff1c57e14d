import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { abortCauseOf, executionKey, type ActiveExecution, type ActiveExecutions } from './active-executions.js';
import { type ExecutionLost } from './execution-lost.js';
import { type WalkRetries } from './retries.js';

/** Walks executions. Those that wait for a child or a gate use no capacity, and an abort does not wait for any. */
export interface WorkerPool {
  /**
   * Queues an execution until `fill` finds capacity for it. Ignores executions that are queued or being walked, wait
   * for a retry or were given up.
   */
  offer(execution: Execution): void;
  /**
   * Aborts an execution. If it is not being walked yet, a walk is started for it, unless it waits for a retry or was
   * given up.
   */
  abort(execution: Execution): void;
  /** The message of the error for which an execution was given up; `undefined` for the others. */
  givenUpFor(key: string): string | undefined;
  /** Ends the walk of an execution, without further reports; the execution is not queued any longer either. */
  lose(key: string, lost: ExecutionLost): void;
  /** Starts queued executions, in the order of the queue, as many as there is capacity for. */
  fill(): void;
  /** The number of executions that are queued, or wait for another attempt. */
  pending(): number;
  /** A counter that increases when a walk begins or ends. */
  activity(): number;
  /** Increases `activity` for work that is not the pool's. */
  noteActivity(): void;
  /** Resolves when every walk has ended. */
  settled(): Promise<void>;
}

type WorkerPoolOptions = {
  readonly active: ActiveExecutions;
  readonly retries: WalkRetries;
  readonly capacity: number;
  readonly walk: (walked: ActiveExecution, execution: Execution) => Promise<void>;
  readonly onEnd: () => void;
};

const abortWalk = (walked: ActiveExecution, cause: string): void => {
  walked.abortCause ??= cause;
  walked.wake();
};

const endWalk = (walked: ActiveExecution | undefined, lost: ExecutionLost): void => {
  if (!walked) return;
  walked.lost ??= lost;
  walked.wake();
};

export const createWorkerPool = ({ active, retries, capacity, walk, onEnd }: WorkerPoolOptions): WorkerPool => {
  const backlog = new Map<string, Execution>();
  const walks = new Set<Promise<void>>();
  let activity = 0;

  const fill = (): void => {
    let free = capacity - active.busy();
    for (const [key, execution] of backlog) {
      if (free-- <= 0) return;
      take(key, execution);
    }
  };

  const end = (key: string, execution: Execution): void => {
    activity++;
    active.remove(key);
    const parent = executionKey(execution.spec?.metadata?.parentNodeExecution?.executionId);
    active.all.get(parent)?.wake();
    fill();
    onEnd();
  };

  const take = (key: string, execution: Execution): ActiveExecution => {
    activity++;
    backlog.delete(key);
    const walked = active.add(key);
    const walking = walk(walked, execution)
      .then(
        () => retries.forget(key),
        (error: unknown) => retries.note(key, error),
      )
      .finally(() => {
        walks.delete(walking);
        end(key, execution);
      });
    walks.add(walking);
    return walked;
  };

  return {
    fill,
    offer: (execution) => {
      const key = executionKey(execution.id);
      if (!backlog.has(key) && !active.all.has(key) && !retries.isPutOff(key)) backlog.set(key, execution);
    },
    abort: (execution) => {
      const key = executionKey(execution.id);
      const walked = active.all.get(key) ?? (retries.isPutOff(key) ? undefined : take(key, execution));
      if (walked) abortWalk(walked, abortCauseOf(execution));
    },
    givenUpFor: (key) => retries.dropped.get(key),
    lose: (key, lost) => {
      backlog.delete(key);
      endWalk(active.all.get(key), lost);
    },
    pending: () => backlog.size + retries.pending(),
    activity: () => activity,
    noteActivity: () => void activity++,
    settled: async () => {
      while (walks.size > 0) await Promise.all(walks);
    },
  };
};
