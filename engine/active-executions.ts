import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';

/** What an execution waits for when a round over its nodes had nothing to do. */
export type Wait = 'child' | 'gate';

/** An execution that this engine walks. */
export type ActiveExecution = {
  readonly key: string;
  /** Set when the control plane wants it ended; the walk sees it between two rounds. */
  abortCause: string | undefined;
  waiting: Wait | undefined;
  /** Ends the pause that the walk is in, if any. */
  wake: () => void;
};

export const executionKey = (id: WorkflowExecutionIdentifier | undefined): string =>
  id ? `${id.project}/${id.domain}/${id.name}` : '';

/** The executions that this engine walks; those that wait for a child or a gate take up no capacity. */
export interface ActiveExecutions {
  readonly all: ReadonlyMap<string, ActiveExecution>;
  /** The number of executions that are not waiting. */
  busy(): number;
  add(key: string): ActiveExecution;
  remove(key: string): void;
}

export const createActiveExecutions = (): ActiveExecutions => {
  const all = new Map<string, ActiveExecution>();
  return {
    all,
    busy: () => [...all.values()].filter((each) => each.waiting === undefined).length,
    add: (key) => {
      const held: ActiveExecution = { key, abortCause: undefined, waiting: undefined, wake: () => undefined };
      all.set(key, held);
      return held;
    },
    remove: (key) => void all.delete(key),
  };
};

/** Waits some milliseconds, or until the execution is woken; from then on it is at work. */
export const rest = (held: ActiveExecution, milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      held.waiting = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      held.wake = () => undefined;
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end, { once: true });
    held.wake = end;
    if (signal.aborted) end();
  });
