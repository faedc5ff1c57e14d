import type { Condition, FieldValue, Query } from '../../runtime/read-store.js';
import type { Search } from '../../query/filters/trigrams.js';
import type { Sql } from './condition-sql.js';
import { pageSql, conditionsAfter, type PlannedQuery, sortAtSql } from './query-sql.js';
import { matchOf, searchHashes, type SearchTable, searchTableOf } from './search-tables.js';

/** The functions of a connection that a search uses. */
export type SearchReader = {
  readonly all: (sql: Sql) => readonly unknown[];
  /** Adds to the number of examined index entries. */
  readonly count: (keys: number) => void;
  /** Throws when the query's time limit has passed. */
  readonly assertInTime: () => void;
};

type Bound = { readonly is: string; readonly value: FieldValue };

/** When a page is not full, further sort values are read in batches that grow from the first limit to the second. */
const MORE_SORT_VALUES = 16;
const MAX_SORT_VALUES = 1_024;

/**
 * The number of entries read from the start of the page to estimate the number of matches. The further these entries
 * reach in the order, the fewer matches there are. The estimate chooses among the trigrams, and between the search and
 * the index.
 */
const SAMPLED_ENTRIES = 4;

const COMPARISONS = new Set(['<', '<=', '>', '>=']);

const isUp = ({ orderBy }: Query): boolean => orderBy.direction === 'ascending';

const directionOf = (query: Query): string => (isUp(query) ? 'ASC' : 'DESC');

/**
 * Bounds of the sort field for a page. The cursor's own value is included again, because other documents may share it.
 */
const boundsOf = (query: Query): readonly Bound[] => {
  const bounds = query.where.flatMap((each) =>
    each.field === query.orderBy.field && COMPARISONS.has(each.is) && 'value' in each ? [each] : [],
  );
  const { after } = query;
  return after ? [...bounds, { is: isUp(query) ? '>=' : '<=', value: after.value }] : bounds;
};

const bounded = (column: string, bounds: readonly Bound[]): Sql => ({
  text: bounds.map(({ is }) => ` AND ${column} ${is} ?`).join(''),
  values: bounds.map(({ value }) => value),
});

type SortValues = (bounds: readonly Bound[], limit: number) => readonly FieldValue[];

const sortValuesByNumber = (reader: SearchReader, { name }: SearchTable, search: Search, query: Query): SortValues => {
  const match = matchOf(search);
  return (bounds, limit) => {
    const { text, values } = bounded('rowid', bounds);
    const where = `${name} MATCH ?${text} ORDER BY rowid ${directionOf(query)} LIMIT ?`;
    const found = reader.all({
      text: `SELECT rowid FROM ${name} WHERE ${where}`,
      values: [match, ...values.map((value) => (typeof value === 'number' ? BigInt(value) : value)), limit],
    }) as [number][];
    reader.count(found.length);
    return found.map(([value]) => value);
  };
};

/** True when `a` comes before `b` in the query's order; an absent value counts as the end of the order. */
const comesFirst = (a: FieldValue | undefined, b: FieldValue | undefined, query: Query): boolean => {
  if (a === undefined || a === null || b === undefined || b === null) return a !== undefined && a !== null;
  return isUp(query) ? a < b : a > b;
};

/** The trigrams of a search, given by their hashes, the rarest after the start of the page first. */
const rarestFirst = (
  hashes: readonly number[],
  sampleEnd: (hash: number) => FieldValue,
  query: Query,
): readonly number[] =>
  hashes
    .map((hash) => ({ hash, end: sampleEnd(hash) }))
    .sort((a, b) => Number(comesFirst(a.end, b.end, query)) - Number(comesFirst(b.end, a.end, query)))
    .map(({ hash }) => hash);

/**
 * Finds the sort values that have the two rarest trigrams, and those of texts that are too long to be indexed by
 * trigrams (`long`).
 */
const sortValuesByText = (
  reader: SearchReader,
  { name, isCounted }: SearchTable & { readonly isCounted: boolean },
  search: Search,
  query: Query,
): SortValues => {
  const { hashes, long } = searchHashes(search);
  const direction = directionOf(query);
  const from = bounded('sort', boundsOf(query));
  /** The sort value of the last sampled entry of a trigram; null when there are fewer entries than the sample. */
  const sampleEnd = (hash: number): FieldValue => {
    const text = `SELECT sort FROM ${name} WHERE part = ?${from.text} ORDER BY sort ${direction} LIMIT ?`;
    const found = reader.all({ text, values: [hash, ...from.values, SAMPLED_ENTRIES] }) as [string][];
    reader.count(found.length);
    return found.length < SAMPLED_ENTRIES ? null : (found.at(-1)?.[0] ?? null);
  };
  const [rarest = 0, next = rarest] = hashes.length > 1 ? rarestFirst(hashes, sampleEnd, query) : hashes;
  const counted = (alias: string): string => (isCounted ? ` AND count_key(${alias}.sort)` : '');
  const other = `(SELECT sort FROM ${name} AS other WHERE other.part = ? AND other.sort = own.sort${counted('other')})`;
  return (bounds, limit) => {
    const { text, values } = bounded('own.sort', bounds);
    const partSql = `SELECT own.sort AS sort FROM ${name} AS own WHERE own.part = ?${text}${counted('own')}`;
    const found = reader.all({
      text: `${partSql} AND EXISTS ${other} UNION ${partSql} ORDER BY sort ${direction} LIMIT ?`,
      values: [rarest, ...values, next, long, ...values, limit],
    }) as [string][];
    return found.map(([value]) => value);
  };
};

const sortValuesOf = (
  reader: SearchReader,
  { collection, isCounted }: PlannedQuery,
  search: Search,
  query: Query,
): SortValues => {
  const table = { ...searchTableOf(collection, search.searched), isCounted };
  return (table.isNumbered ? sortValuesByNumber : sortValuesByText)(reader, table, search, query);
};

/**
 * The matching sort values in order, read in batches: few pages need more than the first batch, which includes the
 * cursor's own value.
 */
function* eachSortValue(sortValues: SortValues, query: Query): Generator<FieldValue> {
  let bounds = boundsOf(query);
  let limit = Math.min(query.limit + (query.after ? 1 : 0), MAX_SORT_VALUES);
  let more = MORE_SORT_VALUES;
  for (;;) {
    const some = sortValues(bounds, limit);
    yield* some;
    const last = some.at(-1);
    if (some.length < limit || last === undefined) return;
    const pageBound = { is: isUp(query) ? '>' : '<', value: last };
    bounds = [...bounds.filter(({ is }) => is.startsWith('>') !== isUp(query)), pageBound];
    limit = more;
    more = Math.min(2 * more, MAX_SORT_VALUES);
  }
}

/**
 * SQL for the documents with one sort value. It leaves out the conditions that found the value: the bounds of the sort
 * field, and `contains all`, which only narrows. The text itself is compared here by the condition of the query.
 */
const rowsAtSql = (run: PlannedQuery, query: Query, value: FieldValue): Sql => {
  const { field } = query.orderBy;
  const at: Condition = { field, is: '=', value };
  const isServed = (each: Condition): boolean =>
    each.is === 'contains all' || (each.field === field && COMPARISONS.has(each.is));
  const alternatives = run.plan.alternatives.map((where) => [...where.filter((each) => !isServed(each)), at]);
  const { after, ...rest } = query;
  const [condition = { text: 'TRUE', values: [] }] = conditionsAfter(after?.value === value ? query : rest);
  const found = { ...run, plan: { ...run.plan, alternatives, scans: false } };
  return pageSql(found, { ...query, offset: 0, limit: query.limit + (query.offset ?? 0) }, condition);
};

/**
 * True when the query's index has more fields before the sort field than the search's scope, and, by the sample, no
 * more entries from the start of the page than the search finds. False when the search finds fewer than the sample.
 */
const isIndexShorter = (reader: SearchReader, run: PlannedQuery, query: Query, sortValues: SortValues): boolean => {
  const { index = [], alternatives, search } = run.plan;
  if (alternatives.length !== 1 || index.length - 1 <= (search?.searched.scope.length ?? 0)) return false;
  const found = sortValues(boundsOf(query), SAMPLED_ENTRIES);
  if (found.length < SAMPLED_ENTRIES) return false;
  const [last] = reader.all(sortAtSql(run, query, SAMPLED_ENTRIES - 1)) as [FieldValue][];
  reader.count(SAMPLED_ENTRIES);
  return !comesFirst(last?.[0], found.at(-1), query);
};

/**
 * The rows that a search finds, in order, up to the query's limit. `undefined` when the plan has no search, when the
 * page begins among documents without a sort value, which search tables do not have, and when the query's index is the
 * cheaper way.
 */
export const searchedRows = <Row>(reader: SearchReader, run: PlannedQuery, query: Query): Iterable<Row> | undefined => {
  const { search } = run.plan;
  if (!search || query.after?.value === null) return undefined;
  const sortValues = sortValuesOf(reader, run, search, query);
  if (isIndexShorter(reader, run, query, sortValues)) return undefined;
  return (function* () {
    let [skipped, missing] = [query.offset ?? 0, query.limit];
    for (const value of eachSortValue(sortValues, query)) {
      reader.assertInTime();
      const rows = reader.all(rowsAtSql(run, query, value)) as Row[];
      const shown = rows.slice(skipped, skipped + missing);
      skipped = Math.max(0, skipped - rows.length);
      missing -= shown.length;
      yield* shown;
      if (missing === 0) return;
    }
  })();
};
