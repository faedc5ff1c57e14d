import type { Condition, FieldValue, Query } from '../runtime/read-store.js';

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
