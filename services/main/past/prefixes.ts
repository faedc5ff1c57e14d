import {
  type FilledStore,
  type FoldedPrefix,
  foldPrefix,
  type Moment,
  type PrefixSources,
} from '../../../projections/runtime/prefix-fold.js';
import { prefixReads } from '../../../projections/query/prefix-reads.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { DocumentReads } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { NeededPrefix } from './as-of.js';

/** A folded prefix, and the reads of its documents. */
export type OpenPrefix = FoldedPrefix & { readonly store: DocumentReads };

/** The folded prefixes of a thread. */
export interface Prefixes {
  /** Folds a prefix, or takes one that was folded lately. It is valid until the next call but one. */
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

/** Opens a temporary store. Its indexes are made at the end, which is cheaper. */
const openStore = async (models: readonly ReadModel<unknown>[]): Promise<FilledStore> => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write', isGrowing: true });
  await store.prepare(models.map(({ collection }) => collection));
  return store;
};

/** Opens folded prefixes; those that are not held in memory have a temporary store each. */
export const openPrefixes = (sources: Omit<PrefixSources, 'openStore' | 'models'>): Prefixes => {
  const kept = new Map<string, OpenPrefix>();
  let count = 0;

  const fold = async ({ models, stream, isWanted }: NeededPrefix, until: Moment | undefined): Promise<OpenPrefix> => {
    const prefix = { stream, until, ...(isWanted && { isWanted }) };
    const folded = await foldPrefix({ ...sources, models, openStore: () => openStore(models) }, prefix);
    return { ...folded, store: prefixReads(folded) };
  };
  const closeOldest = async (): Promise<void> => {
    for (const [name, prefix] of kept) {
      if (kept.size < KEPT) return;
      kept.delete(name);
      await prefix.close();
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
      kept.set(opened.isClosed ? name : `growing ${count}`, opened); // a prefix that may grow is folded anew each time
      return opened;
    },
  };
};
