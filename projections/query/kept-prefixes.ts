import {
  type FilledStore,
  type FoldedPrefix,
  foldPrefix,
  type Moment,
  type Prefix,
  type PrefixSources,
} from '../runtime/prefix-fold.js';
import type { ReadModel } from '../runtime/read-model.js';
import type { DocumentReads } from '../runtime/read-store.js';
import { prefixReads } from './prefix-reads.js';

/** The part of a stream that a read needs: the read models, and which of their documents. */
export type NeededPrefix = Omit<Prefix, 'until'> & {
  readonly models: readonly ReadModel<unknown>[];
  /** The key, or the beginning of the keys, that `isWanted` selects; absent for all. */
  readonly part?: string;
};

/** A folded prefix, and the reads of its documents. */
export type OpenPrefix = FoldedPrefix & { readonly store: DocumentReads };

/** Folded prefixes of streams. The calls come one after another. */
export interface Prefixes {
  /** Folds a prefix, or takes one that is kept. The next call leaves the result open; the one after it may close it. */
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

/** The sources of the folds, and the store of large prefixes. */
export type PrefixesOptions = Omit<PrefixSources, 'openStore' | 'models'> & {
  /**
   * Opens an empty store for a prefix that is too large for memory, or for a query that only a store can answer; it is
   * closed with the prefix.
   */
  readonly openStore: (models: readonly ReadModel<unknown>[]) => Promise<FilledStore>;
};

/** Opens folded prefixes, and keeps the last two. */
export const openPrefixes = ({ openStore, ...sources }: PrefixesOptions): Prefixes => {
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
      kept.set(opened.isFinal ? name : `growing ${count}`, opened); // a prefix that may grow is folded anew each time
      return opened;
    },
  };
};
