import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import { readingEvent } from '../../kernel/decode-event.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventFilter, EventLog } from '../../kernel/ports/event-store.js';
import { StreamParked } from '../../kernel/fault.js';
import { follow, type Reached } from '../../kernel/follow.js';
import type { Reactor } from '../../kernel/reactor.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { type Due, dueQueue } from './due-queue.js';

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
  readonly settle: (item: Item) => Promise<void>;
  /** Called with every failure; a failed item is retried unless its stream is parked. */
  readonly onFailure: (error: unknown) => void;
};

const RETRY_MS = 5_000;
/** With this many failed items waiting for a retry, no new items are started. */
const MAX_FAILED = 1_000;
/** With this many items waiting to be due, no more of the log is read. */
const MAX_WAITING = 10_000;

/** Makes waits that end on a call of `wake`, or after a time. */
const wakeable = (timers: Timers) => {
  let wake = (): void => undefined;
  return {
    wake: () => wake(),
    wait: (delayMs?: number): Promise<void> =>
      new Promise((resolve) => {
        const cancel = delayMs === undefined ? undefined : timers.after(delayMs, () => wake());
        wake = () => {
          cancel?.();
          resolve();
        };
      }),
  };
};

type Entry<Item> = Due & { readonly position: bigint; readonly item: Item };

/** The items that are not done yet: those not tried yet, and those that failed. */
const openEntries = <Item>(now: () => number) => {
  const waiting = dueQueue<Entry<Item>>();
  const failed = dueQueue<Entry<Item>>();
  /** Positions of all these items, in the order of the log, which is the order of insertion. */
  const positions = new Set<bigint>();
  const isDue = (entry: Entry<Item> | undefined): boolean => entry !== undefined && entry.dueMs <= now();

  return {
    isFull: () => waiting.size() >= MAX_WAITING,
    oldest: (): bigint | undefined => positions.values().next().value,
    /** Keeps the checkpoint before an event that is left undone. */
    leave: (position: bigint): void => void positions.add(position),
    add: (entry: Entry<Item>): void => {
      positions.add(entry.position);
      waiting.push(entry);
    },
    /** Returns the next due item: new items go before failed ones, unless too many have failed. */
    nextDue: (): Entry<Item> | undefined => {
      if (failed.size() < MAX_FAILED && isDue(waiting.peek())) return waiting.pop();
      return isDue(failed.peek()) ? failed.pop() : undefined;
    },
    /** Milliseconds until the next item is due; `undefined` when there is none. */
    nextDelayMs: (): number | undefined => {
      const first = failed.size() < MAX_FAILED ? waiting.peek() : undefined;
      const dueMs = Math.min(first?.dueMs ?? Infinity, failed.peek()?.dueMs ?? Infinity);
      return dueMs === Infinity ? undefined : dueMs - now();
    },
    done: ({ position }: Entry<Item>): void => void positions.delete(position),
    failed: (entry: Entry<Item>): void => failed.push({ ...entry, dueMs: now() + RETRY_MS }),
  };
};

const entryOf = <Item>(
  event: RecordedEvent,
  nowMs: number,
  { itemOf, afterMs }: Pick<WhenDueOptions<Item>, 'itemOf' | 'afterMs'>,
): Entry<Item> | undefined => {
  const item = itemOf(event);
  if (item === undefined) return undefined;
  const { recordedAtMs } = readingEvent(event, () => metadataOf(event));
  return { dueMs: Math.min(recordedAtMs, nowMs) + afterMs, position: event.position, item };
};

const attempt = async <Item>(
  entry: Entry<Item>,
  open: Pick<ReturnType<typeof openEntries<Item>>, 'done' | 'failed'>,
  { settle, onFailure }: Pick<WhenDueOptions<Item>, 'settle' | 'onFailure'>,
): Promise<void> => {
  try {
    await settle(entry.item);
    open.done(entry);
  } catch (error) {
    onFailure(error);
    if (!(error instanceof StreamParked)) open.failed(entry);
  }
};

/**
 * Follows events and handles each one a fixed time after it was recorded. An event counts as recorded no later than it
 * was read, so a clock that was ahead delays nothing. Items are handled in the order of their due times, wherever they
 * are in the log. Failed items are retried beside the others. The checkpoint stays before everything that is not done.
 */
export const whenDue = <Item>(options: WhenDueOptions<Item>): Reactor => {
  const { timers, onFailure } = options;
  const now = (): number => timers.now();
  const open = openEntries<Item>(now);
  const reader = wakeable(timers);
  const settler = wakeable(timers);
  const state = { isClosed: false, position: 0n, reached: (() => Promise.resolve()) as Reached };

  const checkpoint = (): Promise<void> => {
    const oldest = open.oldest();
    return state.reached(oldest === undefined ? state.position : oldest - 1n);
  };

  const add = (event: RecordedEvent): void => {
    const { position } = event;
    state.position = position;
    try {
      const entry = entryOf(event, now(), options);
      if (entry !== undefined) open.add(entry);
      settler.wake();
    } catch (error) {
      if (!(error instanceof StreamParked)) throw error;
      open.leave(position);
      onFailure(error);
    }
  };

  const keepSettling = async (): Promise<void> => {
    while (!state.isClosed) {
      const entry = open.nextDue();
      if (entry === undefined) {
        await settler.wait(open.nextDelayMs());
        continue;
      }
      await attempt(entry, open, options);
      reader.wake();
      await checkpoint();
    }
  };

  const following = follow({ ...options, now }, async ({ events, position }, _, reached) => {
    state.reached = reached;
    for (const event of events) {
      while (open.isFull() && !state.isClosed) await reader.wait();
      if (state.isClosed) return;
      add(event);
    }
    state.position = position;
    await checkpoint();
  });
  const settling = keepSettling();

  return {
    ended: Promise.all([following.ended, settling]).then(() => undefined),
    close: async () => {
      state.isClosed = true;
      settler.wake();
      reader.wake();
      await settling.catch(() => undefined); // `ended` reports it
      await following.close();
    },
  };
};
