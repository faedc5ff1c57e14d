import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog, LogPage } from '../../services/kernel/ports/event-store.js';
import { CheckpointMoved, StoreUnavailable } from '../../services/kernel/fault.js';
import { categoryOf, type StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import type { Partition } from './partitions.js';
import type { PartLimits } from './parts.js';
import { type Projector, projector } from './projector.js';
import type { ReadStore } from './read-store.js';

/** One run over partitions of the views, from their checkpoints on. */
export type PartitionRun = {
  readonly partitions: readonly Partition[];
  readonly target: Projector;
  /** Whether somebody else has moved a checkpoint; otherwise it was closed. Rejects when the log or the store fails. */
  readonly ended: Promise<boolean>;
  /** Ends after the page in hand. */
  close(): Promise<void>;
};

/** Hears that the store can take nothing now, the how manieth time in a row. */
export type OnUnavailable = (why: StoreUnavailable, times: number) => Promise<void>;

/** Runs one piece of work after another. */
export type Serially = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** How far the views have come. */
export type Progress = {
  /** The lowest over the partitions of the run. */
  readonly position: bigint;
  /** How long ago the last event that the views have seen was recorded, when it became visible. */
  readonly lagMs: number;
  /** How many streams are set aside. */
  readonly parked: number;
};

/** What a run works with. */
export type PartitionRunOptions = EventSources & {
  readonly log: EventLog;
  readonly readStore: ReadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called after every commit. */
  readonly onProgress: (progress: Progress) => void;
  readonly limits?: PartLimits;
  /**
   * Waits a little. Called after a batch that shows that much is coming, so that the next transaction has more in it:
   * a transaction of few events costs nearly what one of many does.
   */
  readonly breathe?: () => Promise<void>;
  /**
   * Called when the store can take nothing now, such as on a full disk: what was to be written is tried again when the
   * answer resolves. Without, such a failure ends the run.
   */
  readonly onUnavailable?: OnUnavailable;
  readonly serially: Serially;
  /** True when nobody waits for the views any more. */
  readonly isClosed: () => boolean;
};

/** A run takes the pages up to the head together, up to so many events and bytes of its own, and so many of all. */
const TOGETHER = { events: 2_000, bytes: 16 * 1024 * 1024, seen: 20_000 };

/** From so many events in a batch on, there is a breath after it. */
const MANY = 32;

type Gathering = (page: LogPage) => Promise<readonly RecordedEvent[] | undefined>;

/**
 * Gathers what is there, so that a document that many events touch is written once; answers what was taken into the
 * views, or nothing while more is at hand.
 */
const gathering = (log: EventLog, target: Projector, take: Projector['take']): Gathering => {
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
    const isRoom = events.length < TOGETHER.events && bytes < TOGETHER.bytes && seen < TOGETHER.seen;
    if (isRoom && (page.hasNext ?? page.position < (await log.head()))) return undefined;
    const taken = events;
    events = [];
    bytes = 0;
    seen = 0;
    await take(taken, page.position);
    return taken;
  };
};

/** Does again what the store could not do, until it can or nobody waits for it any more. */
export const persistently = async <Result>(
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

/** Tries the streams again that are set aside, and answers those that still are. */
export const retried = async (log: EventLog, target: Projector): Promise<ReturnType<Projector['parked']>> => {
  for (const { stream } of target.parked())
    await target.resume(stream as StreamName, log.readStream(stream as StreamName));
  return target.parked();
};

const isMoved = (error: unknown): boolean => {
  if (error instanceof CheckpointMoved) return true;
  throw error;
};

/** Nothing to follow: it waits to be closed. */
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

/** What others have written into the log says nothing of when it was recorded. */
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
  const { log, onUnavailable, serially, isClosed, breathe } = options;
  const take = gathering(log, target, async (...taken) => {
    await persistently(() => target.take(...taken), onUnavailable, isClosed);
  });
  const subscription = log.subscribe({ after: target.position() }, async (page) => {
    const taken = await serially(() => take(page));
    if (!taken) return;
    report(options, target, taken);
    if (taken.length >= MANY) await breathe?.();
  });
  return { ended: subscription.ended.then(() => false, isMoved), close: () => subscription.close() };
};

const opened = async (options: PartitionRunOptions, partitions: readonly Partition[]): Promise<PartitionRun> => {
  const { log, serially } = options;
  const target = await projector({ ...options, logId: log.logId, partitions, onPoison: 'park' });
  await serially(() => retried(log, target));
  report(options, target);
  const running = partitions.length === 0 ? idle() : follow(options, target);
  return { partitions, target, ...running };
};

/** Opens a run from the checkpoints that there are, again while somebody else moves them. */
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
