import type { Collection, Condition, FieldValue, Query } from '../runtime/read-store.js';
import type { Sql } from './sqlite/condition-sql.js';
import { valuesPlanOf } from './query-plan.js';
import { nextValueSql } from './sqlite/query-sql.js';
import { tightened } from './tightened-query.js';
import { originalValue, storedQuery } from './stored-text.js';

/** Distinct values of a field, and whether more follow. */
export type FoundValues = { readonly values: readonly FieldValue[]; readonly hasMore: boolean };

/**
 * Separates the conditions that exclude single values of the sort field: the caller skips an excluded value in one
 * step, where the database would scan all entries that have it.
 */
export const exceptions = (query: Query): { rest: Query; isExcepted: (value: FieldValue) => boolean } => {
  const isException = (each: Condition): boolean =>
    each.field === query.orderBy.field && (each.is === 'not in' || (each.is === '<>' && each.value !== null));
  const excepted = new Set(
    query.where
      .filter(isException)
      .flatMap((each) => ('values' in each ? each.values : 'value' in each ? [each.value] : [])),
  );
  return {
    rest: { ...query, where: query.where.filter((each) => !isException(each)) },
    isExcepted: (value) => excepted.has(value),
  };
};

/**
 * Finds the distinct values of a field one at a time, so that a value with ten thousand documents costs as much as a
 * value with one.
 */
export const distinctValues = (
  firstRow: (sql: Sql) => unknown,
  collection: Collection,
  asked: Query,
  isCounted: boolean,
): FoundValues => {
  const { rest: query, isExcepted } = exceptions(storedQuery(asked));
  const run = { collection, plan: valuesPlanOf(collection, query), isCounted };
  const skip = query.offset ?? 0;
  const values: FieldValue[] = [];
  let after = query.after;
  while (values.length <= skip + query.limit) {
    const row = firstRow(nextValueSql(run, tightened({ ...query, ...(after && { after }) }))) as
      | [FieldValue]
      | undefined;
    if (!row) return { values: values.slice(skip).map(originalValue), hasMore: false };
    if (!isExcepted(row[0])) values.push(row[0]);
    after = { value: row[0], key: '' };
  }
  return { values: values.slice(skip, -1).map(originalValue), hasMore: true };
};
