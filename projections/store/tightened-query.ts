import type { Condition, FieldValue, Query } from '../runtime/read-store.js';

type Bound = { readonly field: string; readonly is: '<' | '<=' | '>' | '>='; readonly value: FieldValue };

const BOUNDS: ReadonlySet<Condition['is']> = new Set(['<', '<=', '>', '>=']);

const isBound = (condition: Condition): condition is Bound => BOUNDS.has(condition.is);

const isUpper = ({ is }: Bound): boolean => is === '<' || is === '<=';

/** Compares in the order of the store; `undefined` for values of two types. */
const compare = (a: FieldValue, b: FieldValue): number | undefined => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return typeof a === 'string' && typeof b === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : undefined;
};

/** True when each value within `by` is also within `bound`, which has another value and bounds the same side. */
const isImplied = (bound: Bound, by: Bound): boolean => {
  const order = compare(bound.value, by.value) ?? 0;
  return isUpper(bound) ? order > 0 : order < 0;
};

const looser = (bounds: readonly Bound[]): readonly Bound[] =>
  bounds.filter((each) => bounds.some((by) => isUpper(by) === isUpper(each) && isImplied(each, by)));

/** True for a bound on the side at which the page begins. */
const isBehind = (bound: Bound, { orderBy }: Query): boolean => isUpper(bound) === (orderBy.direction === 'descending');

/**
 * True when a condition `<> null` excludes documents whose sort field is empty. Bounds exclude them, too, but are not
 * looked at.
 */
export const excludesEmpty = ({ where, orderBy }: Query): boolean =>
  where.some((each) => each.field === orderBy.field && each.is === '<>' && each.value === null);

/**
 * Drops each bound of the sort field, cursor or condition, that a tighter one on the same side implies. With several
 * bounds, the database starts at one of them, which need not be the tightest, and scans what lies between.
 */
export const tightened = (query: Query): Query => {
  const { after, ...rest } = query;
  const bounds = query.where.filter(isBound).filter(({ field }) => field === query.orderBy.field);
  const dropped = new Set<Condition>(looser(bounds));
  const first = bounds.find((each) => !dropped.has(each) && isBehind(each, query));
  if (after === undefined || first === undefined || after.value === null)
    return { ...query, where: query.where.filter((each) => !dropped.has(each)) };
  const cursorBound: Bound = { ...first, value: after.value };
  const isAtBound = compare(first.value, after.value) === 0;
  // Where both have one value, an exclusive bound begins after all documents with it, and the cursor among them.
  const isCursorImplied = isImplied(cursorBound, first) || (isAtBound && !first.is.endsWith('='));
  if (isCursorImplied) return { ...rest, where: query.where.filter((each) => !dropped.has(each)) };
  if (!isAtBound && !isImplied(first, cursorBound))
    return { ...query, where: query.where.filter((each) => !dropped.has(each)) };
  // A bound never matches an empty value, but a cursor does: empty values follow it in descending order.
  const filled: Condition = { field: first.field, is: '<>', value: null };
  return { ...query, where: [...query.where.filter((each) => each !== first && !dropped.has(each)), filled] };
};
