import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { EventSources } from './event-reader.js';
import { type Partition, PARTITIONS } from './partitions.js';
import { type Gathered, projector } from './projector.js';
import type { ReadStore } from './read-store.js';
import { streamSample } from './stream-sample.js';
import { sharedVerifier, verifier } from './verify.js';

/** How far a rebuild has come: by position while it builds, by streams while it verifies. */
export type RebuildProgress = {
  readonly phase: 'build' | 'verify';
  readonly done: number;
  readonly total: number;
  /** Events or streams seen in this phase. */
  readonly count: number;
};

/** Told how far it has come. */
export type OnRebuildProgress = (progress: RebuildProgress) => void;

/** What a share is built with. */
export type ShareOptions = EventSources & {
  readonly log: EventLog;
  /** Where the views grow; what they are is prepared. */
  readonly store: ReadStore;
  /** Those of the share: every event is of one of them. */
  readonly partitions: readonly Partition[];
  /** How many streams are verified at most, spread evenly over those of the share. */
  readonly verifiedStreams: number;
};

/** Builds a share of the views, on any thread. */
export interface ShareBuilder {
  /** Folds the log, and answers how many events of it were the share's. */
  build(onProgress: OnRebuildProgress): Promise<number>;
  /**
   * Holds what was built against a fold of each stream by itself, and what several streams feed against a fold of all
   * events in memory. Answers how many streams there were.
   */
  verify(onProgress: OnRebuildProgress): Promise<number>;
  /** Stops it, wherever it is. */
  close(): Promise<void>;
}

/**
 * Nobody waits for a commit here, so more is written together than live: a document that many events touch is then
 * encoded and written once for all of them.
 */
const GATHERED: Gathered = { documents: 4_000, bytes: 16 * 1024 * 1024 };

/** Of all shares together. */
const CACHE_BYTES = 16 * 1024 * 1024;

/** Partitions in so many shares. */
export const sharesOf = (count: number): readonly (readonly Partition[])[] =>
  Array.from({ length: count }, (_, share) => PARTITIONS.filter((partition) => partition % count === share));

/** Builds a share where it is called. */
export const shareBuilder = (options: ShareOptions): ShareBuilder => {
  const { log, store, partitions } = options;
  const sample = streamSample(options.verifiedStreams);
  const shared = sharedVerifier(options.models, options.verifiedStreams);
  const cacheBytes = (CACHE_BYTES * partitions.length) / PARTITIONS.length;
  let last = 0n;
  let count = 0;

  const build = async (onProgress: OnRebuildProgress): Promise<number> => {
    const how = { onPoison: 'stop', gathers: GATHERED, cacheBytes } as const;
    const target = await projector({ ...options, ...how, readStore: store, logId: log.logId, onEntry: shared.see });
    const total = Number(await log.head());
    const report = (): void => onProgress({ phase: 'build', done: Number(last), total, count });
    for await (const { events, position } of log.readLog({ after: 0n })) {
      const own = events.filter((event) => target.wants(event));
      await target.take(own, position);
      for (const { revision, stream } of own) if (revision === 0n) sample.add(stream);
      count += own.length;
      last = position;
      report();
    }
    await target.flush(last);
    report();
    return count;
  };

  const verify = async (onProgress: OnRebuildProgress): Promise<number> => {
    await shared.verify(store);
    const verifyStream = verifier(options);
    const streams = sample.streams();
    const report = (done: number): void => onProgress({ phase: 'verify', done, total: streams.length, count: done });
    for (const [index, stream] of streams.entries()) {
      if (index % 500 === 0) report(index);
      await verifyStream(stream, last);
    }
    report(streams.length);
    return streams.length;
  };

  return { build, verify, close: () => Promise.resolve() };
};
