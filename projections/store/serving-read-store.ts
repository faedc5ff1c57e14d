import type { Collection, Query, ReadStore } from '../kernel/read-store.js';
import { queryCaller } from './query-caller.js';
import type { QueryMethod, QueryResult } from './query-messages.js';
import { planOf } from './query-plan.js';
import { sqliteReadStore } from './sqlite-read-store.js';

/** The largest page that is found on the serving thread; it takes about 0.3 ms. */
const MAX_PAGE = 100;

const isShort = (collection: Collection, query: Query): boolean =>
  query.limit <= MAX_PAGE && !planOf(collection, query).walks;

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
  const ask = <Result extends QueryResult>(
    method: QueryMethod,
    collection: Collection,
    query: Query,
  ): Promise<Result> =>
    (isShort(collection, query)
      ? local[method](collection, query)
      : thread.ask(method, collection, query)) as Promise<Result>;
  return {
    ...local,
    find: (collection, query) => ask('find', collection, query),
    findDistinct: (collection, query) => ask('findDistinct', collection, query),
    close: async () => {
      await thread.close();
      await local.close();
    },
  };
};
