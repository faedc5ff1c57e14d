import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog, LogPage } from '../../../services/kernel/ports/event-store.js';
import { CheckpointMoved, StoreUnavailable } from '../../../services/kernel/fault.js';
import { categoryOf, type StreamName } from '../../../services/kernel/stream.js';
import type { EventSources } from '../event-reader.js';
import type { EntryBatchLimits } from '../entry-batch.js';
import type { GatherLimits } from '../batch-writer.js';
import type { OneByOne } from '../one-by-one.js';
import { type Projector, projector } from '../projector.js';
import type { ReadStore } from '../read-store.js';
import type { ViewGroup } from '../view-groups.js';

/** A group of views with its projector. */
export type GroupRun = { readonly group: ViewGroup; readonly target: Projector };

/**
 * Called when a store is unavailable, with the number of consecutive failures; the work that failed is retried when the
 * promise resolves.
 */
export type OnUnavailable = (fault: StoreUnavailable, times: number) => Promise<void>;

/** Options of the run of a group. */
export type GroupRunOptions = EventSources & {
  readonly log: EventLog;
  readonly readStore: ReadStore;
  /** Limits of what the projector folds at once. */
  readonly limits?: EntryBatchLimits;
  /**
   * Called after a large batch of a group in service that reached the head of the log. More events are coming then: a
   * short pause makes the next transaction larger, and a transaction of few events costs nearly as much as one of many.
   * Not called behind the head, where the next batch is full without a pause.
   */
  readonly pauseAfterLarge?: () => Promise<void>;
  /**
   * Called after each batch of a group that is being built, so that the group in service has precedence. Also called
   * before the groups of a run are opened again because the log ended before the position of one of them.
   */
  readonly pauseAfterBuilding?: () => Promise<void>;
  /** A group that is being built writes once it has folded this many events; 250 by default. */
  readonly buildingEvents?: number;
  /**
   * Called when a store is unavailable, such as on a full disk; the work that failed is retried when the promise
   * resolves. Without this callback, such a failure ends the run.
   */
  readonly onUnavailable?: OnUnavailable;
  readonly serially: OneByOne;
  /** True once the owner of the run has closed it; retries stop then. */
  readonly isClosed: () => boolean;
};

const BUILDING_EVENTS = 250;

/** Small, because the group in service waits for a batch of a group that is being built. */
const BUILDING_GATHER_LIMITS: GatherLimits = { events: BUILDING_EVENTS, documents: 4_000, bytes: 2 * 1024 * 1024 };

/** The checkpoints move after this many events of the log, even if none of them belongs to the own partitions. */
const MAX_SEEN = 20_000;

/** A batch with at least this many events of the own partitions is large. */
const LARGE_BATCH = 32;

/** A batch that was projected. */
type TakenBatch = {
  /** Number of events of the own partitions. */
  readonly count: number;
  /** The last of these events whose category has a codec. */
  readonly last: RecordedEvent | undefined;
  /** True when the log had nothing after the batch. */
  readonly isAtHead: boolean;
};

type TakePage = (page: LogPage) => Promise<TakenBatch | undefined>;

/**
 * Projects page by page; behind the head of the log, several pages are written together.
 *
 * @returns the batch that was written, or `undefined` while it is still growing, and once the run is closed.
 */
const pageTaker = (options: GroupRunOptions, target: Projector): TakePage => {
  const { log, codecs, onUnavailable, isClosed } = options;
  const retried = <Result>(work: () => Promise<Result>): Promise<Result | undefined> =>
    retryWhileUnavailable(work, onUnavailable, isClosed);
  let growing: Pick<TakenBatch, 'count' | 'last'> = { count: 0, last: undefined };
  let seen = 0;
  return async (page) => {
    const wanted = page.events.filter((event) => target.wants(event));
    const last = wanted.findLast(({ stream }) => codecs.has(categoryOf(stream)));
    growing = { count: growing.count + wanted.length, last: last ?? growing.last };
    seen += page.events.length;
    const hasNext = page.hasNext ?? (await retried(async () => page.position < (await log.head())));
    if (hasNext === undefined) return undefined;
    const isWritten = await retried(() => target.take(wanted, page.position, hasNext && seen < MAX_SEEN));
    if (isWritten !== true) return undefined;
    const taken = { ...growing, isAtHead: !hasNext };
    growing = { count: 0, last: undefined };
    seen = 0;
    return taken;
  };
};

/**
 * Retries work while the store is unavailable, until it succeeds or the run is closed (`undefined`).
 *
 * @throws {StoreUnavailable} at the first failure when there is no `onUnavailable`.
 */
export const retryWhileUnavailable = async <Result>(
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

/** Retries a parked stream, or all of them. */
export const retryParked = async (log: EventLog, target: Projector, only?: StreamName): Promise<void> => {
  for (const { stream } of target.parked())
    if (only === undefined || stream === only)
      await target.resume(stream as StreamName, log.readStream(stream as StreamName));
};

/** True for the error of a checkpoint that another process has moved; throws any other. */
export const isMoved = (error: unknown): boolean => {
  if (error instanceof CheckpointMoved) return true;
  throw error;
};

/**
 * Opens a group at its stored checkpoints, and retries its parked streams.
 *
 * @throws {CheckpointMoved} when another process has moved a checkpoint meanwhile.
 */
export const openViewGroup = async (options: GroupRunOptions, group: ViewGroup): Promise<GroupRun> => {
  const { log, readStore, serially } = options;
  const { name, models, partitions, takeover, isBuilding } = group;
  // The group continues from the checkpoints and parked streams of the groups that its views were in.
  if (takeover !== undefined) await readStore.write(takeover);
  const gathers = isBuilding && {
    gathers: { ...BUILDING_GATHER_LIMITS, events: options.buildingEvents ?? BUILDING_EVENTS },
  };
  const identity = { name, models, partitions, logId: log.logId, onPoison: 'park', ...gathers } as const;
  const target = await projector({ ...options, ...identity });
  await serially(() => retryParked(log, target));
  return { group, target };
};

/** A group that follows the log. */
export type FollowingGroup = {
  /**
   * Resolves to true when another process has moved a checkpoint, and to false when it was closed, or, in a run of
   * several groups, when one that is being built has reached those in service. Rejects when the log or the store fails.
   */
  readonly ended: Promise<boolean>;
  /** Finishes the current page, then ends. */
  close(): Promise<void>;
};

/** A group without partitions: it only waits to be closed. */
const idle = (): FollowingGroup => {
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

/** Callbacks of a group that follows the log. */
export type ProjectionOptions = {
  /**
   * Asked before each page; a page that is refused is not projected. It is not read again, so all later pages must be
   * refused too, until the group is closed.
   */
  readonly accepts: (page: LogPage) => boolean;
  /** Called when a batch has been written, with its last event whose category has a codec. */
  readonly onBatch: (last: RecordedEvent | undefined) => void;
};

const pauseAfter = async (options: GroupRunOptions, { group }: GroupRun, taken: TakenBatch): Promise<void> => {
  if (group.isBuilding) await options.pauseAfterBuilding?.();
  else if (taken.isAtHead && taken.count >= LARGE_BATCH) await options.pauseAfterLarge?.();
};

/** Projects the log into a group, from its checkpoints on, until it is closed. */
export const projectLog = (
  options: GroupRunOptions,
  run: GroupRun,
  { accepts, onBatch }: ProjectionOptions,
): FollowingGroup => {
  const { log, serially } = options;
  const { group, target } = run;
  if (group.partitions.length === 0) return idle();
  const take = pageTaker(options, target);
  const subscription = log.subscribe({ after: target.position() }, async (page) => {
    if (!accepts(page)) return;
    const taken = await serially(() => take(page));
    if (!taken) return;
    onBatch(taken.last);
    await pauseAfter(options, run, taken);
  });
  return { ended: subscription.ended.then(() => false, isMoved), close: () => subscription.close() };
};
