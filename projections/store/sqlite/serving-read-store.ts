import type { Collection, Found, Query, ReadStore } from '../../runtime/read-store.js';
import { queryCaller } from './query-caller.js';
import { planOf, valuesPlanOf } from '../query-plan.js';
import { sqliteReadStore } from './sqlite-read-store.js';

/** The largest page that is found on the serving thread; it takes about 0.3 ms. */
const MAX_PAGE = 100;

const isShort = (collection: Collection, query: Query, plan: typeof planOf): boolean =>
  query.limit <= MAX_PAGE && !plan(collection, query).walks;

/** The whole page where it turns out to be a short one, however much was asked for; most lists have few rows. */
const foundShort = async (local: ReadStore, collection: Collection, query: Query): Promise<Found | undefined> => {
  const limit = Math.min(query.limit, MAX_PAGE);
  if (!isShort(collection, { ...query, limit }, planOf)) return undefined;
  const found = await local.find(collection, { ...query, limit });
  return found.next && limit < query.limit ? undefined : found;
};

/**
 * Views as the thread that serves requests reads them: documents by key and short pages over an index at once, any
 * other query on a thread of its own, which gives up after `queryLimitMs`, by default 2 seconds, and does not begin one
 * that has waited for longer than `queryWaitMs`, by default 8 seconds.
 *
 * @throws {DataDirectoryUnusable} when the views are damaged.
 * @throws {StoreUnavailable} when there are none yet.
 */
export const servingReadStore = (options: {
  readonly directory: string;
  readonly queryLimitMs?: number;
  readonly queryWaitMs?: number;
}): ReadStore => {
  const { directory, queryLimitMs = 2_000, queryWaitMs = 8_000 } = options;
  const local = sqliteReadStore({ directory, mode: 'read-only' });
  const thread = queryCaller({ directory, queryLimitMs, queryWaitMs });
  return {
    ...local,
    find: async (collection, query) => (await foundShort(local, collection, query)) ?? thread.find(collection, query),
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
