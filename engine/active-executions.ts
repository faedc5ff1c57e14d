import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';

/**
 * The thing that an execution waits for when the last round over its nodes had nothing to do: a child execution or a
 * gate.
 */
export type Wait = 'child' | 'gate';

/** An execution that this engine walks. */
export type ActiveExecution = {
  readonly key: string;
  /** Set when the control plane has requested an abort; the walk checks it between two rounds. */
  abortCause: string | undefined;
  waiting: Wait | undefined;
  /** Ends the current pause of the walk, if any. */
  wake: () => void;
};

/** The key `project/domain/name` of an execution; empty without an identifier. */
export const executionKey = (
  id: Pick<WorkflowExecutionIdentifier, 'project' | 'domain' | 'name'> | undefined,
): string => (id ? `${id.project}/${id.domain}/${id.name}` : '');

/** The executions that this engine walks. Those that wait for a child or a gate use no capacity. */
export interface ActiveExecutions {
  readonly all: ReadonlyMap<string, ActiveExecution>;
  /** Number of executions that are not waiting. */
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
      const execution: ActiveExecution = { key, abortCause: undefined, waiting: undefined, wake: () => undefined };
      all.set(key, execution);
      return execution;
    },
    remove: (key) => void all.delete(key),
  };
};

/**
 * Waits some milliseconds, or until the execution is woken or the engine stops; after that the execution is no longer
 * waiting.
 */
export const waitAsActive = (held: ActiveExecution, milliseconds: number, signal: AbortSignal): Promise<void> =>
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
