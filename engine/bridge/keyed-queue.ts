import { createSlots } from '../pace.js';
import { backoffMs } from './backoff.js';
import { ClusterAway } from './cluster/cluster.js';

/** Works on keys: each key by one at a time, several keys at once; a key whose work fails is tried again later. */
export interface KeyedQueue {
  /** The state of a key has changed: it is worked on as soon as there is capacity, once for several calls. */
  add(key: string): void;
  addAfter(key: string, milliseconds: number): void;
  /** Drops what waits. */
  close(): void;
}

type QueueOptions = {
  readonly concurrency: number;
  readonly work: (key: string) => Promise<void>;
  readonly onFailure: (key: string, error: unknown, failures: number) => void;
};

export const createKeyedQueue = ({ concurrency, work, onFailure }: QueueOptions): KeyedQueue => {
  const slots = createSlots(concurrency);
  const waiting = new Set<string>();
  const busy = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  let isClosed = false;

  const addAfter = (key: string, milliseconds: number): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      add(key);
    }, milliseconds);
    timers.add(timer);
  };

  const failed = (key: string, error: unknown): void => {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    onFailure(key, error, count);
    addAfter(key, backoffMs(count, error instanceof ClusterAway ? error.retryAfterMs : 0));
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
    if (waiting.has(key)) void slots(() => run(key));
  };

  const add = (key: string): void => {
    if (isClosed || waiting.has(key)) return;
    waiting.add(key);
    if (!busy.has(key)) void slots(() => run(key));
  };

  return {
    add,
    addAfter,
    close: () => {
      isClosed = true;
      timers.forEach((timer) => clearTimeout(timer));
      waiting.clear();
    },
  };
};
