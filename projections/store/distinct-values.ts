import type { Condition, FieldValue, Query } from '../runtime/read-store.js';

/** Distinct values of a field, and whether more follow. */
export type FoundValues = { readonly values: readonly FieldValue[]; readonly hasMore: boolean };

/**
 * Separates the conditions that exclude single values of the sort field: the caller skips an excluded value in one
 * step, where the database would scan all entries that have it.
 */
export const separateExclusions = (query: Query): { rest: Query; isExcluded: (value: FieldValue) => boolean } => {
  const isExclusion = (each: Condition): boolean =>
    each.field === query.orderBy.field && (each.is === 'not in' || (each.is === '<>' && each.value !== null));
  const excluded = new Set(
    query.where
      .filter(isExclusion)
      .flatMap((each) => ('values' in each ? each.values : 'value' in each ? [each.value] : [])),
  );
  return {
    rest: { ...query, where: query.where.filter((each) => !isExclusion(each)) },
    isExcluded: (value) => excluded.has(value),
  };
};
