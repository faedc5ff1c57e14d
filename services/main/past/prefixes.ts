import {
  type FoldedPrefix,
  foldPrefix,
  type Moment,
  type PrefixSources,
} from '../../../projections/runtime/prefix-fold.js';
import type { ReadStore } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { NeededPrefix } from './as-of.js';

/** A folded prefix, and the store that has its documents. */
export type OpenPrefix = FoldedPrefix & { readonly store: ReadStore };

/** The folded prefixes of a thread. */
export interface Prefixes {
  /** Folds a prefix, or takes one that was folded lately. Its store is valid until the next call but one. */
  open(needed: NeededPrefix, until: Moment | undefined): Promise<OpenPrefix>;
}

/** The number of prefixes that are kept for the next pages of their lists: two, so that two can be compared. */
const KEPT = 2;

const momentText = (until: Moment | undefined): string => {
  if (until === undefined) return 'now';
  return 'position' in until ? `position ${until.position}` : `time ${until.timeMs}`;
};

/** Equal for two calls that want the same documents. */
const nameOf = ({ stream, models, part = '' }: NeededPrefix, until: Moment | undefined): string =>
  JSON.stringify([stream, momentText(until), models.map(({ collection }) => collection.name), part]);

/** Opens folded prefixes, each in a temporary store. */
export const openPrefixes = (sources: Omit<PrefixSources, 'store' | 'models'>): Prefixes => {
  const kept = new Map<string, OpenPrefix>();
  let count = 0;

  const fold = async ({ models, stream, isWanted }: NeededPrefix, until: Moment | undefined): Promise<OpenPrefix> => {
    // Its indexes are made at the end, which is cheaper.
    const store = sqliteReadStore({ directory: undefined, mode: 'read-write', isGrowing: true });
    try {
      await store.prepare(models.map(({ collection }) => collection));
      const folded = await foldPrefix({ ...sources, models, store }, { stream, until, ...(isWanted && { isWanted }) });
      await store.finish();
      return { store, ...folded };
    } catch (error) {
      await store.close();
      throw error;
    }
  };
  const closeOldest = async (): Promise<void> => {
    for (const [name, { store }] of kept) {
      if (kept.size < KEPT) return;
      kept.delete(name);
      await store.close();
    }
  };

  return {
    open: async (needed, until) => {
      const name = nameOf(needed, until);
      const found = kept.get(name);
      if (found) {
        kept.delete(name);
        kept.set(name, found);
        return found;
      }
      await closeOldest();
      const opened = await fold(needed, until);
      count += 1;
      kept.set(opened.isClosed ? name : `growing ${count}`, opened); // one that may grow is never found again
      return opened;
    },
  };
};
