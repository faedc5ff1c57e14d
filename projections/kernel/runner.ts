import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog, LogPage } from '../../services/kernel/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import type { PartLimits } from './parts.js';
import { type Projector, projector } from './projector.js';
import type { ParkedStream, ReadStore } from './read-store.js';
import { checkpointName } from './view-writer.js';

/** How far the views have come. */
export type Progress = {
  readonly position: bigint;
  /** How long ago the last event that the views have seen was recorded, when it became visible. */
  readonly lagMs: number;
  /** How many streams are set aside. */
  readonly parked: number;
};

/** What a runner works with. */
export type RunnerOptions = EventSources & {
  readonly log: EventLog;
  readonly readStore: ReadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called after every commit. */
  readonly onProgress: (progress: Progress) => void;
  /** Called when what the store has is of another log, and the views start over. */
  readonly onStartOver?: (why: string) => void;
  readonly limits?: PartLimits;
  /**
   * Waits a little. Called after a batch that shows that much is coming, so that the next transaction has more in it:
   * a transaction of few events costs nearly what one of many does.
   */
  readonly breathe?: () => Promise<void>;
  /**
   * Called when the store can take nothing now, such as on a full disk, the how manieth time in a row: what was to be
   * written is tried again when the answer resolves. Without, such a failure ends the runner.
   */
  readonly onUnavailable?: (why: StoreUnavailable, times: number) => Promise<void>;
};

/** Views that are kept up with the log. */
export interface RunningProjections {
  position(): bigint;
  /** The streams that are set aside. */
  parked(): readonly ParkedStream[];
  /** Tries the parked streams again, and answers those that are still parked. */
  retryParked(): Promise<readonly ParkedStream[]>;
  /** Rejects when the log or the store fails; resolves when it was closed. */
  readonly ended: Promise<void>;
  /** Ends after the page in hand. The log and the store stay open. */
  close(): Promise<void>;
}

/** A runner takes the pages up to the head together, up to so many events and bytes. */
const TOGETHER = { events: 2_000, bytes: 16 * 1024 * 1024 };

/** From so many events in a batch on, there is a breath after it. */
const MANY = 32;

const whyStartOver = async ({ log, readStore, models }: RunnerOptions): Promise<string | undefined> => {
  const checkpoint = await readStore.checkpoint(checkpointName({ models }));
  if (!checkpoint) return undefined;
  if (checkpoint.logId !== log.logId) return 'the views are of another log';
  return checkpoint.position > (await log.head()) ? 'the views are ahead of the log' : undefined;
};

const startOver = async (options: RunnerOptions): Promise<void> => {
  const why = await whyStartOver(options);
  if (why === undefined) return;
  options.onStartOver?.(why);
  await options.readStore.clear();
};

const oneAtATime = (): (<Result>(work: () => Promise<Result>) => Promise<Result>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};

type Gathering = (page: LogPage) => Promise<readonly RecordedEvent[] | undefined>;

/**
 * Gathers what is there, so that a document that many events touch is written once; answers what was taken into the
 * views, or nothing while more is at hand.
 */
const gathering = (log: EventLog, take: Projector['take']): Gathering => {
  let events: RecordedEvent[] = [];
  let bytes = 0;
  return async (page) => {
    events.push(...page.events);
    bytes += page.events.reduce((sum, { data }) => sum + data.length, 0);
    const isRoom = events.length < TOGETHER.events && bytes < TOGETHER.bytes;
    if (isRoom && page.position < (await log.head())) return undefined;
    const taken = events;
    events = [];
    bytes = 0;
    await take(taken, page.position);
    return taken;
  };
};

/** Takes again what the store could not take, until it can or nobody waits for it any more. */
const persistent = (
  target: Projector,
  onUnavailable: RunnerOptions['onUnavailable'],
  isClosed: () => boolean,
): Projector['take'] => {
  const attempt = async (...taken: Parameters<Projector['take']>): Promise<StoreUnavailable | undefined> => {
    try {
      await target.take(...taken);
      return undefined;
    } catch (error) {
      if (error instanceof StoreUnavailable && onUnavailable) return error;
      throw error;
    }
  };
  return async (...taken) => {
    for (let times = 1; !isClosed(); times += 1) {
      const why = await attempt(...taken);
      if (!why) return;
      await onUnavailable?.(why, times);
    }
  };
};

const retried = async (log: EventLog, target: Projector): Promise<readonly ParkedStream[]> => {
  for (const { stream } of target.parked())
    await target.resume(stream as StreamName, log.readStream(stream as StreamName));
  return target.parked();
};

/**
 * Keeps the views up with the log: catches up from their checkpoint, then follows live. What an earlier release could
 * not take is tried again first.
 *
 * @throws {Fault} when the log or the store cannot be read.
 */
export const runProjections = async (options: RunnerOptions): Promise<RunningProjections> => {
  const { log, readStore, models, now } = options;
  await readStore.prepare(models.map(({ collection }) => collection));
  await startOver(options);
  const target = await projector({ ...options, logId: log.logId, onPoison: 'park' });
  const serially = oneAtATime();
  await retried(log, target);
  let isClosed = false;
  const take = gathering(
    log,
    persistent(target, options.onUnavailable, () => isClosed),
  );

  const report = (last: RecordedEvent | undefined): void => {
    const lagMs = last ? Math.max(0, now() - metadataOf(last).recordedAtMs) : 0;
    options.onProgress({ position: target.position(), lagMs, parked: target.parked().length });
  };
  report(undefined);
  const subscription = log.subscribe({ after: target.position() }, async (page) => {
    const taken = await serially(() => take(page));
    if (!taken) return;
    report(taken.at(-1));
    if (taken.length >= MANY) await options.breathe?.();
  });

  return {
    position: () => target.position(),
    parked: () => target.parked(),
    retryParked: () => serially(() => retried(log, target)),
    ended: subscription.ended,
    close: () => {
      isClosed = true;
      return subscription.close();
    },
  };
};
