import type { Checkpoint } from '../../kernel/checkpoint.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventFilter, EventLog } from '../../kernel/event-store.js';
import { follow } from '../../kernel/follow.js';
import type { Reactor } from '../../kernel/reactor.js';
import type { Timers } from '../../kernel/timers.js';

export type WhenDueOptions = {
  readonly log: Pick<EventLog, 'subscribe'>;
  readonly filter: EventFilter;
  readonly checkpoint: Checkpoint;
  /** How long after it was recorded each event is due, in milliseconds. */
  readonly afterMs: number;
  readonly timers: Timers;
  /** Does what is due; done again, it comes to the same. */
  readonly settle: (event: RecordedEvent) => Promise<void>;
  /** Hears of every failure; what failed is tried again. */
  readonly onFailure: (error: unknown) => void;
};

const RETRY_MS = 5_000;
/** So many may wait to be tried again; with more, everything waits. */
const MAX_FAILED = 1_000;

/** Delays that end at once when all of them are called off. */
const delays = (timers: Timers) => {
  const waiting = new Set<() => void>();
  const state = { isOver: false };
  return {
    isOver: () => state.isOver,
    wait: (delayMs: number): Promise<void> =>
      new Promise((resolve) => {
        if (state.isOver || delayMs <= 0) {
          resolve();
          return;
        }
        const end = (): void => {
          cancel();
          waiting.delete(end);
          resolve();
        };
        const cancel = timers.after(delayMs, end);
        waiting.add(end);
      }),
    callOff: (): void => {
      state.isOver = true;
      for (const end of waiting) end();
    },
  };
};

/**
 * Follows events, and does something with each a time after it was recorded. All have the same time, so they are due
 * in the order of the log: only the first of them is waited for, and no more than a page of them is in memory. What
 * fails is tried again beside the others, and the checkpoint stays before it.
 */
export const whenDue = (options: WhenDueOptions): Reactor => {
  const { afterMs, timers, settle, onFailure } = options;
  const delay = delays(timers);
  const failed = new Map<bigint, Promise<void>>();

  const succeeds = async (event: RecordedEvent): Promise<boolean> => {
    try {
      await settle(event);
      return true;
    } catch (error) {
      onFailure(error);
      return false;
    }
  };

  const retry = async (event: RecordedEvent): Promise<void> => {
    do {
      await delay.wait(RETRY_MS);
      if (delay.isOver()) return;
    } while (!(await succeeds(event)));
    failed.delete(event.position);
  };

  const take = async (event: RecordedEvent): Promise<void> => {
    await delay.wait(metadataOf(event).recordedAtMs + afterMs - timers.now());
    if (failed.size >= MAX_FAILED) await Promise.race(failed.values());
    if (delay.isOver() || (await succeeds(event))) return;
    failed.set(event.position, retry(event));
  };

  const firstOpen = (position: bigint): bigint => {
    const [oldest] = failed.keys();
    return oldest === undefined ? position : oldest - 1n;
  };

  const following = follow({ ...options, now: () => timers.now() }, async ({ events, position }, _, reached) => {
    for (const event of events) {
      await take(event);
      if (delay.isOver()) return;
      await reached(firstOpen(event.position));
    }
    await reached(firstOpen(position));
  });

  return {
    ended: following.ended,
    close: async () => {
      delay.callOff();
      await following.close();
      await Promise.all(failed.values());
    },
  };
};
