import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import type { EventSources } from '../event-reader.js';
import { type Partition, PARTITIONS } from '../partitions.js';
import type { ReadStore } from '../read-store.js';
import {
  type OnRebuildProgress,
  type RebuildProgress,
  shareBuilder,
  type ThreadedShareBuilder,
} from './rebuild-share.js';

/** A new copy of the views, built beside the one in use. */
export interface FreshViews {
  /** Empty at first. */
  readonly store: ReadStore;
  /** Replaces the views in use, which are kept as the previous ones. Closes `store`. */
  activate(): Promise<void>;
  /** Deletes the new copy, unless it is in use already, and leaves the views in use as they are. Closes `store`. */
  discard(): Promise<void>;
}

/** Options of a rebuild. */
export type RebuildOptions = EventSources & {
  readonly log: EventLog;
  readonly fresh: FreshViews;
  readonly onProgress: OnRebuildProgress;
  /** Maximum number of streams that are verified, spread evenly over the log; 20,000 by default. */
  readonly verifiedStreams?: number;
  /** Memory in which the calling thread holds events of these streams; see `ShareOptions`. */
  readonly heldBytes?: number;
  /** Partitions that are built on the calling thread; all by default. */
  readonly partitions?: readonly Partition[];
  /** Builders of the other partitions. `rebuildViews` closes them. */
  readonly others?: readonly ThreadedShareBuilder[];
};

/** Result of a rebuild. */
export type Rebuilt = {
  readonly position: bigint;
  readonly events: number;
  readonly verifiedStreams: number;
};

/** Default for the number of streams that a rebuild verifies. */
export const VERIFIED_STREAMS = 20_000;

/** Adds up the progress of all shares; reports once every share has reported in the current phase. */
const together = (shares: number, onProgress: OnRebuildProgress): ((index: number) => OnRebuildProgress) => {
  const latest = new Map<number, RebuildProgress>();
  return (index) => (progress) => {
    latest.set(index, progress);
    const { phase } = progress;
    const all = [...latest.values()].filter((each) => each.phase === phase);
    if (all.length < shares) return;
    const sum = (field: 'done' | 'total' | 'count'): number => all.reduce((total, each) => total + each[field], 0);
    onProgress({ phase, done: sum('done'), total: sum('total'), count: sum('count') });
  };
};

const rebuildShares = async (options: RebuildOptions): Promise<Rebuilt> => {
  const { log, fresh, onProgress, partitions = PARTITIONS, others = [], verifiedStreams = VERIFIED_STREAMS } = options;
  const { store } = fresh;
  await store.prepare(options.models.map(({ collection }) => collection));
  const position = await log.head(); // every share reads at least this far
  const ofThread = shareBuilder({
    ...options,
    store,
    partitions,
    verifiedStreams: verifiedStreams / (others.length + 1),
  });
  const shares = [ofThread, ...others];
  const progress = together(shares.length, onProgress);
  const inEach = async (step: 'build' | 'verify'): Promise<number> => {
    const counts = await Promise.all(shares.map((each, index) => each[step](progress(index))));
    return counts.reduce((sum, each) => sum + each, 0);
  };
  const events = await inEach('build');
  return { position, events, verifiedStreams: await inEach('verify') };
};

/**
 * Rebuilds all views from the log, verifies the documents of up to `verifiedStreams` streams, and replaces the views in
 * use. When anything fails before that, the views in use stay as they are.
 *
 * @throws {Error} naming the event that a view cannot process, or the document that is wrong.
 */
export const rebuildViews = async (options: RebuildOptions): Promise<Rebuilt> => {
  const { fresh, others = [] } = options;
  const closeOthers = (): Promise<unknown> => Promise.all(others.map((each) => each.close()));
  try {
    const rebuilt = await rebuildShares(options);
    await closeOthers();
    await fresh.activate();
    return rebuilt;
  } catch (error) {
    await closeOthers().catch(() => undefined); // the error of the rebuild counts
    await fresh.discard().catch(() => undefined); // else the next rebuild deletes the copy
    throw error;
  }
};
