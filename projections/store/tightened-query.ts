import type { Condition, FieldValue, Query } from '../runtime/read-store.js';

type Bound = { readonly field: string; readonly is: '<' | '<=' | '>' | '>='; readonly value: FieldValue };

const BOUNDS: ReadonlySet<Condition['is']> = new Set(['<', '<=', '>', '>=']);

const isBound = (condition: Condition): condition is Bound => BOUNDS.has(condition.is);

const isUpper = ({ is }: Bound): boolean => is === '<' || is === '<=';

/** As the file has them in order; `undefined` for values of two kinds. */
const compare = (a: FieldValue, b: FieldValue): number | undefined => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return typeof a === 'string' && typeof b === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : undefined;
};

const isImplied = (bound: Bound, by: Bound): boolean => {
  const order = compare(bound.value, by.value) ?? 0;
  return isUpper(bound) ? order > 0 : order < 0;
};

const looser = (bounds: readonly Bound[]): readonly Bound[] =>
  bounds.filter((each) => bounds.some((by) => isUpper(by) === isUpper(each) && isImplied(each, by)));

/** The bound on the side that the page begins at. */
const isBehind = (bound: Bound, { orderBy }: Query): boolean => isUpper(bound) === (orderBy.direction === 'descending');

/** True where no document of the query has its order's field empty. */
export const leavesOutEmpty = ({ where, orderBy }: Query): boolean =>
  where.some((each) => each.field === orderBy.field && each.is === '<>' && each.value === null);

/**
 * The same query with one bound of its order on each side at most: the place that the page follows, or a condition. The
 * database begins at one of several, and not at the tightest; what lies between it would walk over.
 */
export const tightened = (query: Query): Query => {
  const { after, ...rest } = query;
  const bounds = query.where.filter(isBound).filter(({ field }) => field === query.orderBy.field);
  const dropped = new Set<Condition>(looser(bounds));
  const first = bounds.find((each) => !dropped.has(each) && isBehind(each, query));
  if (after === undefined || first === undefined || after.value === null)
    return { ...query, where: query.where.filter((each) => !dropped.has(each)) };
  const place: Bound = { ...first, value: after.value };
  const isAtBound = compare(first.value, after.value) === 0;
  // At the bound, what follows the place goes on to the end of a value that a bound may leave out, or begins within.
  const isPlaceFree = isImplied(place, first) || (isAtBound && !first.is.endsWith('='));
  if (isPlaceFree) return { ...rest, where: query.where.filter((each) => !dropped.has(each)) };
  if (!isAtBound && !isImplied(first, place))
    return { ...query, where: query.where.filter((each) => !dropped.has(each)) };
  // No bound lets an empty value through, but a place does: they follow it in descending order.
  const filled: Condition = { field: first.field, is: '<>', value: null };
  return { ...query, where: [...query.where.filter((each) => each !== first && !dropped.has(each)), filled] };
};
