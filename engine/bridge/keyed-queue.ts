import { createCallSlots } from '../pace.js';
import { backoffMs } from './backoff.js';
import { ClusterUnavailable } from './cluster/cluster.js';

/** A queue of keys to work on: several at a time, but no key twice at a time. Failed work is retried later. */
export interface KeyedQueue {
  /**
   * Queues a key whose state has changed. Several calls before the work begins count as one; a call while the work runs
   * makes it run once more.
   */
  add(key: string): void;
  /**
   * Queues a key after some milliseconds. Of several such calls for a key, only the one with the earliest time has an
   * effect: work that still has to wait must call it again.
   */
  addAfter(key: string, milliseconds: number): void;
  /** Drops the waiting keys, also those that wait for a slot. Work that runs goes on. */
  close(): void;
}

/** The longest time of a timer in Node.js; a longer one would run out at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

type QueueOptions = {
  readonly concurrency: number;
  readonly work: (key: string) => Promise<void>;
  readonly onFailure: (key: string, error: unknown, failures: number) => void;
};

export const createKeyedQueue = ({ concurrency, work, onFailure }: QueueOptions): KeyedQueue => {
  const slots = createCallSlots(concurrency);
  const waiting = new Set<string>();
  const busy = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Map<string, { readonly dueMs: number; readonly timeout: NodeJS.Timeout }>();
  let isClosed = false;

  const addAfter = (key: string, milliseconds: number): void => {
    if (isClosed) return;
    const dueMs = performance.now() + milliseconds; // a clock that is never set
    const earlier = timers.get(key);
    if (earlier && earlier.dueMs <= dueMs) return;
    clearTimeout(earlier?.timeout);
    const queue = (): void => {
      timers.delete(key);
      add(key);
    };
    timers.set(key, { dueMs, timeout: setTimeout(queue, Math.min(milliseconds, MAX_TIMER_MS)) });
  };

  const failed = (key: string, error: unknown): void => {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    onFailure(key, error, count);
    addAfter(key, backoffMs(count, error instanceof ClusterUnavailable ? error.retryAfterMs : 0));
  };

  const run = async (key: string): Promise<void> => {
    waiting.delete(key);
    busy.add(key);
    try {
      await work(key);
      failures.delete(key);
    } catch (error) {
      if (!isClosed) failed(key, error);
    }
    busy.delete(key);
    if (waiting.has(key)) void slots(() => begin(key));
  };

  /** Begins the work on a key that has got a slot, unless the queue was closed meanwhile. */
  const begin = (key: string): Promise<void> => (isClosed ? Promise.resolve() : run(key));

  const add = (key: string): void => {
    if (isClosed || waiting.has(key)) return;
    waiting.add(key);
    if (!busy.has(key)) void slots(() => begin(key));
  };

  return {
    add,
    addAfter,
    close: () => {
      isClosed = true;
      timers.forEach(({ timeout }) => clearTimeout(timeout));
      waiting.clear();
    },
  };
};
