import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import type { EventSources } from '../event-reader.js';
import { type Partition, PARTITIONS } from '../partitions.js';
import { projector } from '../projector.js';
import type { ReadStore } from '../read-store.js';
import { streamSample } from '../stream-sample.js';
import { sharedVerifier, verifier } from './verify.js';

/** Progress of a rebuild: `done` and `total` are positions in the phase `build`, and streams in the phase `verify`. */
export type RebuildProgress = {
  readonly phase: 'build' | 'verify';
  readonly done: number;
  readonly total: number;
  /** Events or streams processed in this phase. */
  readonly count: number;
};

/** Called with the progress of a rebuild. */
export type OnRebuildProgress = (progress: RebuildProgress) => void;

/** Options for building one share of the views. */
export type ShareOptions = EventSources & {
  readonly log: EventLog;
  /** Store that receives the views; its collections have been prepared. */
  readonly store: ReadStore;
  /** The partitions of the share: every event belongs to exactly one partition. */
  readonly partitions: readonly Partition[];
  /** Maximum number of streams that are verified, spread evenly over those of the share. */
  readonly verifiedStreams: number;
  /**
   * Memory for the events of these streams, so that they need not be read again one by one; without, all streams are
   * read again.
   */
  readonly heldBytes?: number;
};

/** Builds a share of the views. */
export interface ShareBuilder {
  /**
   * Projects the log into the share's partitions.
   *
   * @returns the number of events that belong to the share.
   * @throws {Error} naming the first event that cannot be projected.
   */
  build(onProgress: OnRebuildProgress): Promise<number>;
  /**
   * Compares the stored documents of the sampled streams with a fold of each stream by itself, and documents that
   * several streams feed with a fold of all events in memory.
   *
   * @returns the number of streams verified.
   * @throws {Error} naming the first document that differs.
   */
  verify(onProgress: OnRebuildProgress): Promise<number>;
}

/** Builds a share of the views on another thread. */
export interface ThreadedShareBuilder extends ShareBuilder {
  /** Stops the thread, in any phase. */
  close(): Promise<void>;
}

/** For all shares together, in stored form. */
const CACHE_BYTES = 16 * 1024 * 1024;

/** Divides all partitions into `count` shares. */
export const sharesOf = (count: number): readonly (readonly Partition[])[] =>
  Array.from({ length: count }, (_, share) => PARTITIONS.filter((partition) => partition % count === share));

/** Creates a builder that runs on the calling thread. */
export const shareBuilder = (options: ShareOptions): ShareBuilder => {
  const { log, store, partitions } = options;
  const sample = streamSample({ streams: options.verifiedStreams, bytes: options.heldBytes ?? 0 });
  const shared = sharedVerifier(options.models, options.verifiedStreams);
  const cacheBytes = (CACHE_BYTES * partitions.length) / PARTITIONS.length;
  let last = 0n;
  let count = 0;

  const build = async (onProgress: OnRebuildProgress): Promise<number> => {
    const writeOptions = { readStore: store, logId: log.logId, cacheBytes, onEntry: shared.see };
    const target = await projector({ ...options, ...writeOptions, onPoison: 'stop' });
    const total = Number(await log.head());
    const report = (): void => onProgress({ phase: 'build', done: Number(last), total, count });
    for await (const { events, position } of log.readLog({ after: 0n })) {
      const wanted = events.filter((event) => target.wants(event));
      await target.take(wanted, position, true);
      for (const event of wanted) sample.add(event);
      count += wanted.length;
      last = position;
      report();
    }
    await target.take([], last);
    report();
    return count;
  };

  const verify = async (onProgress: OnRebuildProgress): Promise<number> => {
    await shared.verify(store);
    const { add, finish } = verifier(options);
    const streams = sample.streams();
    const report = (done: number): void => onProgress({ phase: 'verify', done, total: streams.length, count: done });
    for (const [index, { stream, events }] of streams.entries()) {
      if (index % 500 === 0) report(index);
      await add(events ? [events] : log.readStream(stream), last);
    }
    await finish();
    report(streams.length);
    return streams.length;
  };

  return { build, verify };
};
