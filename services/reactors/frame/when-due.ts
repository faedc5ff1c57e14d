import { readingEvent } from '../../kernel/decode-event.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import { StreamParked } from '../../kernel/fault.js';
import { follow, type Reached } from '../../kernel/follow.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { EventFilter, EventLog } from '../../kernel/ports/event-store.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { Reactor } from '../../kernel/reactor.js';
import type { RetryPolicy } from './retry.js';
import { type WorkFigures, type Worked, workQueue } from './work-queue.js';

export type WhenDueOptions<Item> = {
  readonly log: Pick<EventLog, 'subscribe'>;
  readonly filter: EventFilter;
  readonly checkpoint: Checkpoint;
  /** Delay in milliseconds from when an event was recorded until it is due. */
  readonly afterMs: number;
  readonly timers: Timers;
  /**
   * Extracts what to keep of an event until it is due; `undefined` when there is nothing to do. When this or `settle`
   * throws `StreamParked`, the event is left undone until the log is read again from before it.
   */
  readonly itemOf: (event: RecordedEvent) => Item | undefined;
  /** Does the work for an item that is due. Must be idempotent. */
  readonly settle: (item: Item) => Promise<Worked>;
  /** Called with every failure; a failed item is retried unless its stream is parked. */
  readonly onFailure: (error: unknown) => void;
  /** Maximum number of items that wait to be due; with so many, no more of the log is read. By default 10,000. */
  readonly maxWaiting?: number;
  /** Work begins when the events that existed at the start have been read: later ones may make it needless. */
  readonly onlyLive?: boolean;
  /** Maximum number of items that are worked on at the same time; by default 1. */
  readonly concurrency?: number;
  readonly random?: () => number;
};

/** A reactor whose work can be measured. */
export interface MeasuredReactor extends Reactor {
  figures(): WorkFigures;
}

const RETRY: RetryPolicy = { firstMs: 5_000, maxMs: 300_000 };
const MAX_WAITING = 10_000;
const NOT_LIVE_MS = 100;

type Placed<Item> = { readonly item: Item; readonly position: bigint };

/** A wait that ends at the next call of `wake`. */
const wakeable = () => {
  let wake = (): void => undefined;
  const wait = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return { wake: () => wake(), wait };
};

/**
 * Follows events and handles each one a fixed time after it was recorded. An event counts as recorded no later than it
 * was read, so a clock that was ahead delays nothing. Items are handled in the order of their due times, wherever they
 * are in the log. Failed items are retried beside the others. The checkpoint stays before everything that is not done.
 */
export const whenDue = <Item>(options: WhenDueOptions<Item>): MeasuredReactor => {
  const { timers, onFailure, afterMs, itemOf, settle, maxWaiting = MAX_WAITING, onlyLive = false } = options;
  /** Positions of all items that are not done, in the order of the log, which is the order of insertion. */
  const undone = new Set<bigint>();
  const reader = wakeable();
  const state = { isClosed: false, isLive: false, position: 0n, reached: (() => Promise.resolve()) as Reached };

  const checkpoint = (): Promise<void> => {
    const oldest = undone.values().next().value;
    return state.reached(oldest === undefined ? state.position : oldest - 1n);
  };

  const queue = workQueue<Placed<Item>>({
    ...options,
    retry: RETRY,
    work: async ({ item }) => {
      reader.wake();
      return onlyLive && !state.isLive ? { againAtMs: timers.now() + NOT_LIVE_MS } : settle(item);
    },
    onDone: ({ position }) => {
      undone.delete(position);
      checkpoint().catch(onFailure); // written again with the next item
    },
  });

  const add = (event: RecordedEvent): void => {
    const { position } = event;
    state.position = position;
    try {
      const item = itemOf(event);
      if (item === undefined) return;
      const { recordedAtMs } = readingEvent(event, () => metadataOf(event));
      undone.add(position);
      queue.add({ item, position }, Math.min(recordedAtMs, timers.now()) + afterMs);
    } catch (error) {
      if (!(error instanceof StreamParked)) throw error;
      undone.add(position); // keeps the checkpoint before it
      onFailure(error);
    }
  };

  const following = follow({ ...options, now: () => timers.now() }, async ({ events, position }, isLive, reached) => {
    state.reached = reached;
    for (const event of events) {
      while (queue.size() >= maxWaiting && !state.isClosed) await reader.wait();
      if (state.isClosed) return;
      add(event);
    }
    state.position = position;
    state.isLive ||= isLive;
    await checkpoint();
  });

  return {
    ended: following.ended,
    figures: () => queue.figures(),
    close: async () => {
      state.isClosed = true;
      reader.wake();
      await queue.close();
      await following.close();
    },
  };
};
