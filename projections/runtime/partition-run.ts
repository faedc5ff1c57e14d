import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog, LogPage } from '../../services/kernel/ports/event-store.js';
import { CheckpointMoved, StoreUnavailable } from '../../services/kernel/fault.js';
import { categoryOf, type StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import type { Partition } from './partitions.js';
import type { EntryBatchLimits } from './entry-batch.js';
import { type Projector, projector } from './projector.js';
import type { ReadStore } from './read-store.js';

/** One run that projects the log into partitions of the views, from their checkpoints on. */
export type PartitionRun = {
  readonly partitions: readonly Partition[];
  readonly target: Projector;
  /**
   * Resolves to true when another process has moved a checkpoint, and to false when the run was closed. Rejects when
   * the log or the store fails.
   */
  readonly ended: Promise<boolean>;
  /** Finishes the current page, then ends the run. */
  close(): Promise<void>;
};

/**
 * Called when the store is unavailable, with the number of consecutive failures; the write is retried when the promise
 * resolves.
 */
export type OnUnavailable = (why: StoreUnavailable, times: number) => Promise<void>;

/** Runs pieces of work one at a time, in the order of the calls. */
export type Serially = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Progress of a run. */
export type Progress = {
  /** The lowest position over the partitions of the run. */
  readonly position: bigint;
  /** Milliseconds between the recording of the last projected event and the commit that made it visible. */
  readonly lagMs: number;
  /** Number of parked streams. */
  readonly parked: number;
};

/** Options of a run. */
export type PartitionRunOptions = EventSources & {
  readonly log: EventLog;
  readonly readStore: ReadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called after every commit. */
  readonly onProgress: (progress: Progress) => void;
  readonly limits?: EntryBatchLimits;
  /**
   * Called after a large batch that reached the head of the log. More events are coming then: a short pause makes the
   * next transaction larger, and a transaction of few events costs nearly as much as one of many. Not called behind the
   * head, where the next batch is full without a pause.
   */
  readonly pauseAfterLarge?: () => Promise<void>;
  /**
   * Called when the store is unavailable, such as on a full disk; the write is retried when the promise resolves.
   * Without this callback, such a failure ends the run.
   */
  readonly onUnavailable?: OnUnavailable;
  readonly serially: Serially;
  /** True once the owner of the run has closed it; retries stop then. */
  readonly isClosed: () => boolean;
};

/**
 * Limits of one batch: own events, their bytes, and events read from the log including those of other partitions. A
 * batch ends at one of these limits or at the head of the log.
 */
const BATCH_LIMITS = { events: 2_000, bytes: 16 * 1024 * 1024, seen: 20_000 };

/** A batch of at least this many events counts as large: `pauseAfterLarge` is called after it. */
const LARGE_BATCH = 32;

/** A batch that was projected; `isAtHead` when the log had nothing after it. */
type TakenBatch = { readonly events: readonly RecordedEvent[]; readonly isAtHead: boolean };

type BatchCollector = (page: LogPage) => Promise<TakenBatch | undefined>;

/**
 * Collects pages into one batch up to the limits, so that a document that many events touch is written once.
 *
 * @returns the batch that was projected, or `undefined` while it is still growing.
 */
const batchCollector = (log: EventLog, target: Projector, take: Projector['take']): BatchCollector => {
  let events: RecordedEvent[] = [];
  let bytes = 0;
  let seen = 0;
  return async (page) => {
    for (const event of page.events) {
      if (!target.wants(event)) continue;
      events.push(event);
      bytes += event.data.length;
    }
    seen += page.events.length;
    const hasCapacity = events.length < BATCH_LIMITS.events && bytes < BATCH_LIMITS.bytes && seen < BATCH_LIMITS.seen;
    const hasNext = page.hasNext ?? page.position < (await log.head());
    if (hasCapacity && hasNext) return undefined;
    const taken = events;
    events = [];
    bytes = 0;
    seen = 0;
    await take(taken, page.position);
    return { events: taken, isAtHead: !hasNext };
  };
};

/**
 * Retries work while the store is unavailable, until it succeeds or the run is closed (`undefined`).
 *
 * @throws {StoreUnavailable} at the first failure when there is no `onUnavailable`.
 */
export const retryUnavailable = async <Result>(
  work: () => Promise<Result>,
  onUnavailable: OnUnavailable | undefined,
  isClosed: () => boolean,
): Promise<Result | undefined> => {
  for (let times = 1; !isClosed(); times += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || !onUnavailable) throw error;
      await onUnavailable(error, times);
    }
  }
  return undefined;
};

/**
 * Retries every parked stream.
 *
 * @returns the streams that are still parked.
 */
export const retryParked = async (log: EventLog, target: Projector): Promise<ReturnType<Projector['parked']>> => {
  for (const { stream } of target.parked())
    await target.resume(stream as StreamName, log.readStream(stream as StreamName));
  return target.parked();
};

const isMoved = (error: unknown): boolean => {
  if (error instanceof CheckpointMoved) return true;
  throw error;
};

/** A run without partitions: it only waits to be closed. */
const idle = (): Pick<PartitionRun, 'ended' | 'close'> => {
  let end = (): void => undefined;
  const ended = new Promise<boolean>((resolve) => {
    end = () => resolve(false);
  });
  return {
    ended,
    close: () => {
      end();
      return ended.then(() => undefined);
    },
  };
};

/**
 * Reports progress after a commit. The lag is that of the last event of a known category: events that other
 * applications wrote into the log do not say when they were recorded.
 */
const report = (
  { now, onProgress, codecs }: PartitionRunOptions,
  target: Projector,
  taken: readonly RecordedEvent[] = [],
): void => {
  const last = taken.findLast(({ stream }) => codecs.has(categoryOf(stream)));
  const lagMs = last ? Math.max(0, now() - metadataOf(last).recordedAtMs) : 0;
  onProgress({ position: target.position(), lagMs, parked: target.parked().length });
};

const follow = (options: PartitionRunOptions, target: Projector): Pick<PartitionRun, 'ended' | 'close'> => {
  const { log, onUnavailable, serially, isClosed, pauseAfterLarge } = options;
  const take = batchCollector(log, target, async (...taken) => {
    await retryUnavailable(() => target.take(...taken), onUnavailable, isClosed);
  });
  const subscription = log.subscribe({ after: target.position() }, async (page) => {
    const taken = await serially(() => take(page));
    if (!taken) return;
    report(options, target, taken.events);
    if (taken.isAtHead && taken.events.length >= LARGE_BATCH) await pauseAfterLarge?.();
  });
  return { ended: subscription.ended.then(() => false, isMoved), close: () => subscription.close() };
};

const opened = async (options: PartitionRunOptions, partitions: readonly Partition[]): Promise<PartitionRun> => {
  const { log, serially } = options;
  const target = await projector({ ...options, logId: log.logId, partitions, onPoison: 'park' });
  await serially(() => retryParked(log, target));
  report(options, target);
  const running = partitions.length === 0 ? idle() : follow(options, target);
  return { partitions, target, ...running };
};

/** Starts a run at the stored checkpoints. Starts again when another process moves a checkpoint meanwhile. */
export const runPartitions = async (
  options: PartitionRunOptions,
  partitions: readonly Partition[],
): Promise<PartitionRun> => {
  for (;;) {
    try {
      return await opened(options, partitions);
    } catch (error) {
      isMoved(error);
    }
  }
};
