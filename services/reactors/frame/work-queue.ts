import { StreamParked } from '../../kernel/fault.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { type Due, dueQueue } from './due-queue.js';
import { retryDelayMs, type WorkRetryPolicy } from './retry.js';

/** The state of an item after work on it: finished, or to be worked on again at a time in milliseconds since 1970. */
export type WorkResult = { readonly againAtMs: number } | undefined;

export type WorkQueueOptions<Item> = {
  readonly timers: Timers;
  /** Works on an item that is due. Must be idempotent: after a restart the work may be done again. */
  readonly work: (item: Item) => Promise<WorkResult>;
  /** Called when an item is finished or was given up; not for one that is forgotten because its stream is parked. */
  readonly onDone?: (item: Item) => void;
  /**
   * Called with every failure. The item is retried, unless it is given up, or forgotten because its stream is parked.
   */
  readonly onFailure: (error: unknown) => void;
  readonly retry: WorkRetryPolicy;
  /** Records that an item was given up after `attempts` failures in a row. When that fails, the item is retried. */
  readonly giveUp?: (item: Item, error: unknown, attempts: number) => Promise<void>;
  /**
   * Called before an item is forgotten because its stream is parked, after `attempts` failures in a row. When this
   * fails, the item is retried.
   */
  readonly onParked?: (item: Item, error: StreamParked, attempts: number) => Promise<void>;
  /** Maximum number of items that are worked on at the same time; by default 1. */
  readonly concurrency?: number;
  /** Numbers from 0 up to 1. */
  readonly random?: () => number;
};

/** The figures of a queue. */
export type WorkFigures = {
  /** Items that are not finished, those that failed included. */
  readonly waiting: number;
  /** Items whose last attempt has failed, and that are not given up; another attempt may be running. */
  readonly retrying: number;
  /** Items that were given up since the start; of a reactor with dead letters, those that are open. */
  readonly dead: number;
  /**
   * Milliseconds since the oldest item that is due now became due; 0 where none is. An item that waits for a retry is
   * not due.
   */
  readonly lagMs: number;
};

/** Items with a due time each. They are held in memory; the caller rebuilds them from the log at the start. */
export interface WorkQueue<Item> {
  /** @param dueMs milliseconds since 1970; in the past means at once. */
  add(item: Item, dueMs: number): void;
  /** The number of items that have not failed and are not being worked on. */
  size(): number;
  figures(): WorkFigures;
  /** Finishes the work in hand, and begins no more. */
  close(): Promise<void>;
}

/** With this many failed items waiting for a retry, no new items are started. */
const MAX_FAILED = 1_000;
/** The longest time in milliseconds until the clock is read again: it may have been set forward. */
const MAX_TIMER_MS = 30_000;

/**
 * An item in the queue. `attempts` is how often in a row it has failed, `sinceMs` when it was due before the first of
 * these failures, and `failedAtMs` the time of that failure.
 */
type Entry<Item> = Due & {
  readonly item: Item;
  readonly sinceMs: number;
  readonly attempts: number;
  readonly failedAtMs?: number;
};

const newEntry = <Item>(item: Item, dueMs: number): Entry<Item> => ({ item, dueMs, sinceMs: dueMs, attempts: 0 });

/** New items and failed ones, each by due time. */
const openEntries = <Item>(now: () => number) => {
  const fresh = dueQueue<Entry<Item>>();
  const failed = dueQueue<Entry<Item>>();
  const isDue = (entry: Entry<Item> | undefined): boolean => entry !== undefined && entry.dueMs <= now();
  const startable = (): Entry<Item> | undefined => (failed.size() < MAX_FAILED ? fresh.peek() : undefined);
  return {
    fresh,
    failed,
    /** Takes the next due item: new items go before failed ones, unless too many have failed. */
    take: (): Entry<Item> | undefined => {
      if (isDue(startable())) return fresh.pop();
      return isDue(failed.peek()) ? failed.pop() : undefined;
    },
    /** The due time of the next item that may be started; infinite when there is none. */
    nextMs: (): number => Math.min(startable()?.dueMs ?? Infinity, failed.peek()?.dueMs ?? Infinity),
  };
};

const figuresOf = <Item>(
  { fresh, failed }: ReturnType<typeof openEntries<Item>>,
  running: Iterable<Entry<Item>>,
  nowMs: number,
): Omit<WorkFigures, 'dead'> => {
  const worked = [...running];
  const dueMs = [fresh.peek(), failed.peek(), ...worked].map((entry) => entry?.dueMs ?? Infinity);
  return {
    waiting: fresh.size() + failed.size() + worked.length,
    retrying: failed.size() + worked.filter(({ attempts }) => attempts > 0).length,
    lagMs: Math.max(0, nowMs - Math.min(...dueMs)),
  };
};

/**
 * Makes the worker of a queue: `workOn` works on one item, puts what is left of it back into the queue, and never
 * rejects.
 */
const worker = <Item>(
  { timers, work, onFailure, onDone, retry, giveUp, onParked, random = Math.random }: WorkQueueOptions<Item>,
  { fresh, failed }: ReturnType<typeof openEntries<Item>>,
) => {
  const counted = { dead: 0 };

  const retryLater = (entry: Entry<Item>): void => {
    const attempts = entry.attempts + 1;
    const dueMs = timers.now() + retryDelayMs(retry, attempts, random());
    failed.push({ ...entry, attempts, failedAtMs: entry.failedAtMs ?? timers.now(), dueMs });
  };

  const isHopeless = ({ attempts, sinceMs, failedAtMs = Infinity }: Entry<Item>): boolean => {
    const { giveUpAfterMs = Infinity, giveUpAttempts } = retry;
    const fromMs = giveUpAttempts === undefined ? failedAtMs : sinceMs;
    return attempts + 1 >= (giveUpAttempts ?? 0) && timers.now() - fromMs >= giveUpAfterMs;
  };

  const failedWith = async (entry: Entry<Item>, error: unknown): Promise<void> => {
    onFailure(error);
    if (error instanceof StreamParked) return onParked?.(entry.item, error, entry.attempts + 1);
    if (giveUp === undefined || !isHopeless(entry)) {
      retryLater(entry);
      return;
    }
    await giveUp(entry.item, error, entry.attempts + 1);
    counted.dead += 1;
    onDone?.(entry.item);
  };

  const workOn = async (entry: Entry<Item>): Promise<void> => {
    try {
      const worked = await work(entry.item);
      if (worked === undefined) onDone?.(entry.item);
      else fresh.push(newEntry(entry.item, worked.againAtMs));
    } catch (error) {
      await failedWith(entry, error).catch((cause: unknown) => {
        onFailure(cause);
        retryLater(entry);
      });
    }
  };
  return { workOn, counted };
};

/** Opens a queue that works on its items when they are due. One item that fails holds up no other. */
export const workQueue = <Item>(options: WorkQueueOptions<Item>): WorkQueue<Item> => {
  const { timers, concurrency = 1 } = options;
  const open = openEntries<Item>(() => timers.now());
  const { workOn, counted } = worker(options, open);
  const running = new Map<Entry<Item>, Promise<void>>();
  const state = { isClosed: false, cancel: (): void => undefined };

  const start = (entry: Entry<Item>): void => {
    const done = workOn(entry).finally(() => {
      running.delete(entry);
      pump();
    });
    running.set(entry, done);
  };

  const pump = (): void => {
    state.cancel();
    while (!state.isClosed && running.size < concurrency) {
      const entry = open.take();
      if (entry === undefined) break;
      start(entry);
    }
    const nextMs = open.nextMs();
    if (state.isClosed || running.size >= concurrency || nextMs === Infinity) return;
    state.cancel = timers.after(Math.min(nextMs - timers.now(), MAX_TIMER_MS), pump);
  };

  return {
    add: (item, dueMs) => {
      open.fresh.push(newEntry(item, dueMs));
      pump();
    },
    size: () => open.fresh.size(),
    figures: () => ({ ...figuresOf(open, running.keys(), timers.now()), dead: counted.dead }),
    close: async () => {
      state.isClosed = true;
      state.cancel();
      await Promise.all(running.values());
    },
  };
};
