import type { EventLog } from '../../services/kernel/event-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import { type Gathered, projector } from './projector.js';
import type { ReadStore } from './read-store.js';
import { streamSample } from './stream-sample.js';
import { verifier } from './verify.js';

/** Views that grow beside the ones in use. */
export interface FreshViews {
  /** Empty at first. */
  readonly store: ReadStore;
  /** Puts them in the place of the ones in use, which stay for a way back. Closes `store`. */
  activate(): Promise<void>;
  /** Drops them, and leaves those in use as they are. Closes `store`. */
  discard(): Promise<void>;
}

/** How far a rebuild has come: by position while it builds, by streams while it verifies. */
export type RebuildProgress = {
  readonly phase: 'build' | 'verify';
  readonly done: number;
  readonly total: number;
  /** Events or streams seen in this phase. */
  readonly count: number;
};

/** What a rebuild works with. */
export type RebuildOptions = EventSources & {
  readonly log: EventLog;
  readonly fresh: FreshViews;
  readonly onProgress: (progress: RebuildProgress) => void;
  /** How many streams are verified at most, spread evenly over the log; 20,000 by default. */
  readonly verifiedStreams?: number;
};

/** What a rebuild has done. */
export type Rebuilt = {
  readonly position: bigint;
  readonly events: number;
  readonly verifiedStreams: number;
};

/**
 * Nobody waits for a commit here, so more is written together than live: a document that many events touch is then
 * encoded and written once for all of them.
 */
const GATHERED: Gathered = { documents: 4_000, bytes: 16 * 1024 * 1024 };
const CACHE_BYTES = 16 * 1024 * 1024;

const VERIFIED_STREAMS = 20_000;

const build = async (options: RebuildOptions, onStream: (stream: StreamName) => void): Promise<Rebuilt> => {
  const { log, fresh, onProgress } = options;
  await fresh.store.prepare(options.models.map(({ collection }) => collection));
  const { logId } = log;
  const how = { onPoison: 'stop', gathers: GATHERED, cacheBytes: CACHE_BYTES } as const;
  const target = await projector({ ...options, ...how, readStore: fresh.store, logId });
  const total = Number(await log.head());
  let count = 0;
  let last = 0n;
  const report = (): void => onProgress({ phase: 'build', done: Number(last), total, count });
  for await (const { events, position } of log.readLog({ after: 0n })) {
    await target.take(events, position);
    for (const { revision, stream } of events) if (revision === 0n) onStream(stream);
    count += events.length;
    last = position;
    report();
  }
  await target.flush(last);
  report();
  return { position: last, events: count, verifiedStreams: 0 };
};

const verify = async (options: RebuildOptions, streams: readonly StreamName[], upTo: bigint): Promise<void> => {
  const verifyStream = verifier({ ...options, store: options.fresh.store });
  for (const [index, stream] of streams.entries()) {
    await verifyStream(stream, upTo);
    const done = index + 1;
    if (done % 500 === 0 || done === streams.length)
      options.onProgress({ phase: 'verify', done, total: streams.length, count: done });
  }
};

/**
 * Builds all views anew from the log, holds them against a fold of each stream by itself, and puts them in the place
 * of the ones in use. When anything fails, those stay as they are.
 *
 * @throws {Error} naming the event that a view cannot take, or the document that is not what its stream makes of it.
 */
export const rebuildViews = async (options: RebuildOptions): Promise<Rebuilt> => {
  const { fresh } = options;
  try {
    const sample = streamSample(options.verifiedStreams ?? VERIFIED_STREAMS);
    const built = await build(options, sample.add);
    const streams = sample.streams();
    await verify(options, streams, built.position);
    await fresh.activate();
    return { ...built, verifiedStreams: streams.length };
  } catch (error) {
    await fresh.discard();
    throw error;
  }
};
