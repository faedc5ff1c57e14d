import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { EventSources } from './event-reader.js';
import { type Partition, PARTITIONS } from './partitions.js';
import type { ReadStore } from './read-store.js';
import { type OnRebuildProgress, type RebuildProgress, type ShareBuilder, shareBuilder } from './rebuild-share.js';

/** Views that grow beside the ones in use. */
export interface FreshViews {
  /** Empty at first. */
  readonly store: ReadStore;
  /** Puts them in the place of the ones in use, which stay for a way back. Closes `store`. */
  activate(): Promise<void>;
  /** Drops them, and leaves those in use as they are. Closes `store`. */
  discard(): Promise<void>;
}

/** What a rebuild works with. */
export type RebuildOptions = EventSources & {
  readonly log: EventLog;
  readonly fresh: FreshViews;
  readonly onProgress: OnRebuildProgress;
  /** How many streams are verified at most, spread evenly over the log; 20,000 by default. */
  readonly verifiedStreams?: number;
  /** Those that are built here; all by default. */
  readonly partitions?: readonly Partition[];
  /** Who builds the others. They are closed. */
  readonly others?: readonly ShareBuilder[];
};

/** What a rebuild has done. */
export type Rebuilt = {
  readonly position: bigint;
  readonly events: number;
  readonly verifiedStreams: number;
};

/** How many streams a rebuild verifies, where nobody says. */
export const VERIFIED_STREAMS = 20_000;

/** Tells how far all shares have come together, as soon as each has said how far it is. */
const together = (shares: number, onProgress: OnRebuildProgress): ((index: number) => OnRebuildProgress) => {
  const latest = new Map<number, RebuildProgress>();
  return (index) => (progress) => {
    latest.set(index, progress);
    const { phase } = progress;
    const all = [...latest.values()].filter((each) => each.phase === phase);
    if (all.length < shares) return;
    const sum = (what: 'done' | 'total' | 'count'): number => all.reduce((total, each) => total + each[what], 0);
    onProgress({ phase, done: sum('done'), total: sum('total'), count: sum('count') });
  };
};

const rebuildShares = async (options: RebuildOptions): Promise<Rebuilt> => {
  const { log, fresh, onProgress, partitions = PARTITIONS, others = [], verifiedStreams = VERIFIED_STREAMS } = options;
  const { store } = fresh;
  await store.prepare(options.models.map(({ collection }) => collection));
  const position = await log.head(); // every share reads this far at least
  const own = shareBuilder({ ...options, store, partitions, verifiedStreams: verifiedStreams / (others.length + 1) });
  const shares = [own, ...others];
  const progress = together(shares.length, onProgress);
  const inEach = async (step: 'build' | 'verify'): Promise<number> => {
    const counts = await Promise.all(shares.map((each, index) => each[step](progress(index))));
    return counts.reduce((sum, each) => sum + each, 0);
  };
  const events = await inEach('build');
  return { position, events, verifiedStreams: await inEach('verify') };
};

/**
 * Builds all views anew from the log, holds them against a fold of each stream by itself, and puts them in the place
 * of the ones in use. When anything fails, those stay as they are.
 *
 * @throws {Error} naming the event that a view cannot take, or the document that is not what its stream makes of it.
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
    await closeOthers();
    await fresh.discard();
    throw error;
  }
};
