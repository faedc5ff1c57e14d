import type { DatabaseSync } from '@photostructure/sqlite';
import type {
  Collection,
  PageCursor,
  QueryCost,
  FieldValue,
  Found,
  Query,
  ValueCounts,
} from '../../runtime/read-store.js';
import type { Sql } from './condition-sql.js';
import type { FoundValues } from '../distinct-values.js';
import { rowCounts } from './examined-rows.js';
import { isImpossible, queryPlanOf } from '../query-plan.js';
import { conditionsAfter, countsSql, pageSql, type PlannedQuery } from './query-sql.js';
import { searchedRows } from './search-pages.js';
import { distinctValues } from './sqlite-values.js';
import { originalText, originalValue, storedQuery } from '../stored-text.js';
import { tightened } from '../tightened-query.js';
import { Fault, QueryTooSlow } from '../../../services/kernel/fault.js';

/**
 * Limits the time of queries: `within` runs one. The driver cannot interrupt a statement, so a query that scans rows
 * calls `within_time()` regularly, which fails the query when its time is up. A search, which runs several statements,
 * calls `assertInTime` between them. Any other query has no limit: it reads little but what it returns. A {@link Fault}
 * of the query, such as a page that is too large, is thrown as it is.
 */
const timeLimit = (
  db: InstanceType<typeof DatabaseSync>,
  limitMs: number,
): { within: <Result>(query: () => Result) => Result; assertInTime: () => void } => {
  let endsAt = Infinity;
  const isOver = (): boolean => performance.now() > endsAt;
  const assertInTime = (): void => {
    if (isOver()) throw new Error('the query has reached its time limit');
  };
  db.function('within_time', { directOnly: true }, () => {
    assertInTime();
    return 1;
  });
  const within = <Result>(query: () => Result): Result => {
    endsAt = performance.now() + limitMs;
    try {
      return query();
    } catch (error) {
      if (error instanceof Fault || !isOver()) throw error;
      throw new QueryTooSlow(`the query took longer than its limit of ${limitMs} ms`, error);
    }
  };
  return { within, assertInTime };
};

type Database = InstanceType<typeof DatabaseSync>;
type Statement = ReturnType<Database['prepare']>;
type PageRow = [element: Uint8Array, value: FieldValue, key: string];

const MAX_STATEMENTS = 300;

const NO_VALUES: FoundValues = { values: [], hasMore: false };

/** Queries over a file of views. */
export type SqliteQueries = {
  /**
   * Reads a page and passes each element to `take` as it is read.
   *
   * @returns the cursor of the last element when more follow.
   */
  page(collection: Collection, query: Query, take: (element: Uint8Array) => void): PageCursor | undefined;
  find(collection: Collection, query: Query): Found;
  findDistinct(collection: Collection, query: Query): FoundValues;
  countBy(collection: Collection, query: Query, by: string): ValueCounts;
  examined(collection: Collection, query: Query, method: 'find' | 'findDistinct'): QueryCost;
};

/** Caches prepared statements by their text: filters have few shapes, and preparing costs more than reading a page. */
const statements = (db: Database): ((text: string) => Statement) => {
  const prepared = new Map<string, Statement>();
  return (text) => {
    const known = prepared.get(text);
    if (known) return known;
    if (prepared.size >= MAX_STATEMENTS) prepared.clear();
    const statement = db.prepare(text, { returnArrays: true });
    prepared.set(text, statement);
    return statement;
  };
};

function* indexedRows(rowsOf: (sql: Sql) => Iterable<PageRow>, run: PlannedQuery, query: Query): Generator<PageRow> {
  let missing = query.limit;
  for (const part of conditionsAfter(query)) {
    if (missing === 0) return;
    for (const row of rowsOf(pageSql(run, { ...query, limit: missing }, part))) {
      missing -= 1;
      yield row;
    }
  }
}

const counted = (
  all: (sql: Sql) => readonly unknown[],
  collection: Collection,
  requested: Query,
  by: string,
): ValueCounts => {
  if (isImpossible(requested)) return new Map();
  const query = storedQuery(requested);
  const plan = { ...queryPlanOf(collection, query), scans: true };
  const rows = all(countsSql({ collection, plan, isCounted: false }, by)) as [FieldValue, number][];
  return new Map(rows.map(([value, count]) => [originalValue(value), count]));
};

/** Answers queries over one connection, those that scan or search within `limitMs` milliseconds. */
export const sqliteQueries = (db: Database, limitMs: number): SqliteQueries => {
  const statement = statements(db);
  const { within: withinTime, assertInTime } = timeLimit(db, limitMs);
  const counts = rowCounts(db);
  const rowsOf = ({ text, values }: Sql): Iterable<PageRow> =>
    statement(text).iterate(...values) as Iterable<unknown> as Iterable<PageRow>;

  const all = ({ text, values }: Sql): readonly unknown[] => statement(text).all(...values);
  const reader = { all, count: counts.add, assertInTime };

  const firstRow = ({ text, values }: Sql): unknown => statement(text).get(...values);

  // One more row than requested shows whether more follow.
  const eachRow = (run: PlannedQuery, query: Query, take: (row: PageRow) => void): boolean => {
    const extended = { ...query, limit: query.limit + 1 };
    let missing = extended.limit;
    for (const row of searchedRows<PageRow>(reader, run, extended) ?? indexedRows(rowsOf, run, extended)) {
      missing -= 1;
      if (missing > 0) take(row);
    }
    return missing === 0;
  };

  const page = (
    collection: Collection,
    requested: Query,
    take: (element: Uint8Array) => void,
    isCounted = false,
  ): PageCursor | undefined => {
    if (isImpossible(requested)) return undefined;
    const query = tightened(storedQuery(requested));
    const run = { collection, plan: queryPlanOf(collection, query), isCounted };
    let last: PageRow | undefined;
    const hasMore = eachRow(run, query, (row) => {
      last = row;
      take(row[0]);
    });
    return hasMore && last ? { value: originalValue(last[1]), key: originalText(last[2]) } : undefined;
  };

  const find = (collection: Collection, query: Query, isCounted = false): Found => {
    const elements: Uint8Array[] = [];
    const next = page(collection, query, (element) => elements.push(element), isCounted);
    return next ? { elements, next } : { elements };
  };

  const distinct = (collection: Collection, query: Query, isCounted = false): FoundValues =>
    isImpossible(query) ? NO_VALUES : distinctValues(firstRow, collection, query, isCounted);

  const examined: SqliteQueries['examined'] = (collection, query, method) => {
    counts.take();
    const returned =
      method === 'find'
        ? find(collection, query, true).elements.length
        : distinct(collection, query, true).values.length;
    return { ...counts.take(), returned };
  };

  return {
    page: (collection, query, take) => withinTime(() => page(collection, query, take)),
    find: (collection, query) => withinTime(() => find(collection, query)),
    findDistinct: (collection, query) => withinTime(() => distinct(collection, query)),
    countBy: (collection, query, by) => withinTime(() => counted(all, collection, query, by)),
    examined: (collection, query, method) => withinTime(() => examined(collection, query, method)),
  };
};
