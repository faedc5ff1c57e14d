import { recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StreamParked } from '../../kernel/fault.js';
import { follow, type OnReached, type Reactor } from '../../kernel/log-readers/follow.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { EventFilter, EventLog } from '../../kernel/ports/event-store.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { letterKey } from '../../dead-letter/decider.js';
import type { StreamName } from '../../kernel/stream.js';
import { type FailedEvent, letterOf, NO_DEAD_LETTERS, type OpenDeadLetters } from './dead-letters.js';
import type { WorkRetryPolicy } from './retry.js';
import { type WorkFigures, type WorkResult, workQueue } from './work-queue.js';

/** The dead letters of a reactor, and the rule by which failing work becomes one. */
export type DeadLetterRule = {
  readonly deadLetters: OpenDeadLetters;
  /**
   * Work becomes a dead letter when it fails this long after its due time, in milliseconds, and has failed eight times
   * in a row in this process.
   */
  readonly afterMs: number;
};

export type WhenDueOptions<Item> = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  readonly filter: EventFilter;
  readonly checkpoint: Checkpoint;
  /** Delay in milliseconds from when an event was recorded until it is due. */
  readonly afterMs: number;
  readonly timers: Timers;
  /**
   * Extracts what to keep of an event until it is due; `undefined` when there is nothing to do. When this or `work`
   * throws `StreamParked`, the event becomes a dead letter, which is tried again when a stream is resumed and at the
   * next start.
   */
  readonly itemOf: (event: RecordedEvent) => Item | undefined;
  /** Does the work for an item that is due. Must be idempotent. */
  readonly work: (item: Item) => Promise<WorkResult>;
  /**
   * Called with every failure. A failed item is retried until it becomes a dead letter; one of a parked stream is not
   * retried.
   */
  readonly onFailure: (error: unknown) => void;
  /**
   * Without it work is retried for ever, and events of parked streams are left undone until the log is read again from
   * before them.
   */
  readonly givingUp?: DeadLetterRule;
  /**
   * Maximum number of items that wait, due or not, without those that have failed; with so many, no more of the log is
   * read. By default 10,000.
   */
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

/** Eight attempts take from about five to about ten minutes. */
const RETRY: WorkRetryPolicy = { firstMs: 5_000, maxMs: 300_000, giveUpAttempts: 8 };
const MAX_WAITING = 10_000;
/** Interval in milliseconds at which work that must wait checks whether the events of the start have been read. */
const NOT_LIVE_MS = 100;

/**
 * An event to work on, and the item that was made of it. The event of a dead letter, and one whose stream was parked,
 * has no item until the event is read again. `isAgain` is set while a dead letter is tried again.
 */
type DueEvent<Item> = FailedEvent & { item?: Item | undefined; readonly isAgain?: true };

/** A wait that ends at the next call of `wake`. */
const wakeable = () => {
  let wake = (): void => undefined;
  const wait = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return { wake: () => wake(), wait };
};

/** The positions whose work is not done, in the order of the log, which is the order of insertion. */
const openPositions = (onFailure: (error: unknown) => void) => {
  const undone = new Set<bigint>();
  const read = { position: 0n, reached: (() => Promise.resolve()) as OnReached };
  const write = (): Promise<void> => {
    const oldest = undone.values().next().value;
    return read.reached(oldest === undefined ? read.position : oldest - 1n);
  };
  return {
    read,
    write,
    begin: (position: bigint): void => void undone.add(position),
    end: (position: bigint): void => {
      undone.delete(position);
      write().catch(onFailure); // written again with the next item
    },
  };
};

const readEvent = async (
  log: Pick<EventLog, 'readStream'>,
  { stream, revision }: FailedEvent,
): Promise<RecordedEvent | undefined> => {
  for await (const [event] of log.readStream(stream as StreamName, { from: revision, limit: 1 })) return event;
  return undefined;
};

/** Works on events that are due, and on dead letters that are to be tried again. */
const working = <Item>(
  options: WhenDueOptions<Item>,
  positions: ReturnType<typeof openPositions>,
  state: { readonly isLive: boolean },
  onWork: () => void,
) => {
  const { log, timers, givingUp, itemOf } = options;
  /** The keys of the dead letters that are being tried again; true when one has to be tried once more after that. */
  const retrying = new Map<string, boolean>();

  // The checkpoint has passed dead letters already, so only the position of other work is ended.
  const end = (due: DueEvent<Item>): void => {
    if (!due.isAgain) {
      positions.end(due.position);
      return;
    }
    const isOnceMore = retrying.get(letterKey(due)) === true;
    retrying.delete(letterKey(due));
    if (isOnceMore) tryAgain(due);
  };

  const itemAgain = async (due: DueEvent<Item>): Promise<Item | undefined> => {
    const event = await readEvent(log, due);
    return event && itemOf(event);
  };

  const attempt = async (due: DueEvent<Item>): Promise<WorkResult> => {
    onWork();
    if (letters.isSkipped(due)) return undefined;
    if (options.onlyLive === true && !state.isLive) return { againAtMs: timers.now() + NOT_LIVE_MS };
    due.item ??= await itemAgain(due);
    const worked = due.item === undefined ? undefined : await options.work(due.item);
    if (worked !== undefined) return worked;
    await letters.settle(due);
    if (due.isAgain) retrying.set(letterKey(due), false);
    return undefined;
  };

  const park = async (due: DueEvent<Item>, error: StreamParked, attempts: number): Promise<void> => {
    if (!givingUp) return;
    await letters.record(letterOf(due, error, attempts));
    end(due);
  };

  const queue = workQueue<DueEvent<Item>>({
    ...options,
    retry: { ...RETRY, giveUpAfterMs: givingUp?.afterMs ?? Infinity },
    work: attempt,
    giveUp: (due, error, attempts) => letters.record(letterOf(due, error, attempts)),
    onParked: park,
    onDone: end,
  });

  /** Tries a dead letter again at once; after the try that runs, if there is one, unless that one does the work. */
  const tryAgain = (letter: FailedEvent): void => {
    const isRunning = retrying.has(letterKey(letter));
    retrying.set(letterKey(letter), isRunning);
    if (!isRunning) queue.add({ ...letter, isAgain: true }, timers.now());
  };
  const letters = givingUp?.deadLetters(tryAgain) ?? NO_DEAD_LETTERS;
  const start = letters.ready().then(() => letters.retrying().forEach(tryAgain));
  start.catch(() => undefined); // not unhandled: the first page waits for it
  return { queue, letters, start };
};

/**
 * Follows events and handles each one a fixed time after it was recorded. An event counts as recorded no later than it
 * was read, so a clock that was ahead delays nothing. Items are handled in the order of their due times, wherever they
 * are in the log. Failed items are retried beside the others, and become dead letters when they fail for too long. The
 * checkpoint stays before everything that is neither done nor a dead letter.
 */
export const whenDue = <Item>(options: WhenDueOptions<Item>): MeasuredReactor => {
  const { timers, onFailure, afterMs, itemOf, maxWaiting = MAX_WAITING } = options;
  const positions = openPositions(onFailure);
  const reader = wakeable();
  const state = { isClosed: false, isLive: false };
  const { queue, letters, start } = working(options, positions, state, () => reader.wake());

  const add = (event: RecordedEvent): void => {
    const { position, stream, revision } = event;
    if (letters.has(event)) return;
    try {
      const item = itemOf(event);
      if (item === undefined) return;
      const { recordedAtMs } = recordedMetadata(event);
      const dueMs = Math.min(recordedAtMs, timers.now()) + afterMs;
      positions.begin(position);
      queue.add({ position, stream, revision, sinceMs: dueMs, item }, dueMs);
    } catch (error) {
      if (!(error instanceof StreamParked)) throw error;
      positions.begin(position);
      // The queue reads the event again, and records the dead letter with retries.
      queue.add({ position, stream, revision, sinceMs: timers.now() }, timers.now());
    }
  };

  const following = follow({ ...options, now: () => timers.now() }, async ({ events, position }, isLive, reached) => {
    await start;
    positions.read.reached = reached;
    for (const event of events) {
      while (queue.size() >= maxWaiting && !state.isClosed) await reader.wait();
      if (state.isClosed) return;
      add(event);
      positions.read.position = event.position; // not before: if `add` throws, the checkpoint must not pass the event
    }
    positions.read.position = position;
    state.isLive ||= isLive;
    await positions.write();
  });

  return {
    ended: Promise.all([following.ended, letters.ended]).then(() => undefined),
    figures: () => ({ ...queue.figures(), dead: letters.count() }),
    close: async () => {
      state.isClosed = true;
      reader.wake();
      await queue.close();
      await letters.close();
      await following.close();
    },
  };
};
