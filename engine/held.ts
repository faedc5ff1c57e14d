import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';

/** What an execution waits for when a whole round of it had no answer. */
export type Wait = 'child' | 'gate';

/** An execution that this engine walks. */
export type Held = {
  readonly key: string;
  /** Set when the control plane wants it ended; the walk sees it between two rounds. */
  abortCause: string | undefined;
  waiting: Wait | undefined;
  /** Ends the pause that the walk is in, if any. */
  wake: () => void;
};

export const executionKey = (id: WorkflowExecutionIdentifier | undefined): string =>
  id ? `${id.project}/${id.domain}/${id.name}` : '';

/** The executions that this engine walks; those that wait take up none of its room. */
export interface Roster {
  readonly all: ReadonlyMap<string, Held>;
  /** How many are at work rather than waiting. */
  busy(): number;
  add(key: string): Held;
  remove(key: string): void;
}

export const createRoster = (): Roster => {
  const all = new Map<string, Held>();
  return {
    all,
    busy: () => [...all.values()].filter((each) => each.waiting === undefined).length,
    add: (key) => {
      const held: Held = { key, abortCause: undefined, waiting: undefined, wake: () => undefined };
      all.set(key, held);
      return held;
    },
    remove: (key) => void all.delete(key),
  };
};

/** Waits some milliseconds, or until the execution is woken; from then on it is at work. */
export const rest = (held: Held, milliseconds: number, signal: AbortSignal): Promise<void> =>
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
