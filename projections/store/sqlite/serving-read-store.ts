import type { Collection, Found, Query, ReadStore } from '../../runtime/read-store.js';
import { queryCaller } from './query-caller.js';
import { queryPlanOf, valuesPlanOf } from '../query-plan.js';
import { sqliteReadStore } from './sqlite-read-store.js';

/** Largest page that is read on the serving thread; it takes about 0.3 ms. */
const MAX_PAGE = 100;

const isShort = (collection: Collection, query: Query, plan: typeof queryPlanOf): boolean =>
  query.limit <= MAX_PAGE && !plan(collection, query).scans;

/**
 * Tries a long page as a short one, since most lists have few rows; `undefined` when there are more, or when the query
 * scans.
 */
const foundShort = async (local: ReadStore, collection: Collection, query: Query): Promise<Found | undefined> => {
  const limit = Math.min(query.limit, MAX_PAGE);
  if (!isShort(collection, { ...query, limit }, queryPlanOf)) return undefined;
  const found = await local.find(collection, { ...query, limit });
  return found.next && limit < query.limit ? undefined : found;
};

/**
 * The views for the thread that serves requests: reads documents by key, and short pages over an index, directly. Any
 * other page, and `countBy`, is read on another thread, which stops it after `queryLimitMs` (default 2 seconds) if it
 * scans or searches, and refuses it when it has waited longer than `queryWaitMs` (default 8 seconds).
 *
 * @throws as {@link sqliteReadStore} for `read-only`.
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
    countBy: (collection, query, by) => thread.countBy(collection, query, by),
    close: async () => {
      await thread.close();
      await local.close();
    },
  };
};
