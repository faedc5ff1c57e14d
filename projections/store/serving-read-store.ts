import type { Collection, Query, ReadStore } from '../kernel/read-store.js';
import { queryCaller } from './query-caller.js';
import { planOf, valuesPlanOf } from './query-plan.js';
import { sqliteReadStore } from './sqlite-read-store.js';

/** The largest page that is found on the serving thread; it takes about 0.3 ms. */
const MAX_PAGE = 100;

const isShort = (collection: Collection, query: Query, plan: typeof planOf): boolean =>
  query.limit <= MAX_PAGE && !plan(collection, query).walks;

/**
 * Views as the thread that serves requests reads them: documents by key and short pages over an index at once, any
 * other query on a thread of its own, which gives up after `queryLimitMs`, by default 2 seconds.
 *
 * @throws {DataDirectoryUnusable} when the views are damaged.
 * @throws {StoreUnavailable} when there are none yet.
 */
export const servingReadStore = (options: {
  readonly directory: string;
  readonly queryLimitMs?: number;
}): ReadStore => {
  const { directory, queryLimitMs = 2_000 } = options;
  const local = sqliteReadStore({ directory, mode: 'read-only' });
  const thread = queryCaller({ directory, queryLimitMs });
  return {
    ...local,
    find: (collection, query) =>
      isShort(collection, query, planOf) ? local.find(collection, query) : thread.find(collection, query),
    findDistinct: (collection, query) =>
      isShort(collection, query, valuesPlanOf)
        ? local.findDistinct(collection, query)
        : thread.findDistinct(collection, query),
    close: async () => {
      await thread.close();
      await local.close();
    },
  };
};
