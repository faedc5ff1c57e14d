import type { FilterTerm } from './filters/filter.js';
import type { Collection, Condition, FieldValue, Query, ReadStore } from '../runtime/read-store.js';
import { containsAllOf, searchOf } from './filters/trigrams.js';

/** A query with the conditions that come from filters apart in `terms`. */
export type FilteredQuery = Query & { readonly terms: readonly FilterTerm[] };

type Finder = Pick<ReadStore, 'findDistinct'>;

/**
 * Maximum number of values that the store is asked for, to expand a condition into them; a collection declares no more
 * (`Collection.values`). Each value is looked up in an index, and the results are merged in order.
 */
const MAX_VALUES = 16;

const RANGES: ReadonlySet<Condition['is']> = new Set(['<', '<=', '>', '>=']);

const isEqual = (condition: Condition): boolean => condition.is === '=' && condition.value !== null;

type RangeSign = '<' | '<=' | '>' | '>=';
type Range = { readonly field: string; readonly is: RangeSign; readonly value: FieldValue };

const isRange = (condition: Condition): condition is Range => RANGES.has(condition.is);

const isLower = ({ is }: Range): boolean => is === '>' || is === '>=';

/**
 * Finds an index in the query's order whose fields before the sort field, except `field`, are all bound to one value.
 */
const indexFor = (collection: Collection, { where, orderBy }: Query, field: string): readonly string[] | undefined => {
  const equal = new Set(where.filter(isEqual).map((each) => each.field));
  return collection.indexes.find(
    (index) =>
      index.at(-1) === orderBy.field &&
      index.includes(field) &&
      index.slice(0, -1).every((each) => each === field || equal.has(each)),
  );
};

const FITS: Readonly<Record<string, (value: FieldValue, bound: FieldValue) => boolean>> = {
  '<>': (value, bound) => value !== bound,
  '<': (value, bound) => value !== null && bound !== null && value < bound,
  '<=': (value, bound) => value !== null && bound !== null && value <= bound,
  '>': (value, bound) => value !== null && bound !== null && value > bound,
  '>=': (value, bound) => value !== null && bound !== null && value >= bound,
};

/** False when the condition excludes the value for certain. */
const admits = (condition: Condition, value: FieldValue): boolean => {
  if (condition.is === 'not in') return !condition.values.includes(value);
  const fits = FITS[condition.is];
  return !fits || !('value' in condition) || fits(value, condition.value);
};

/**
 * Replaces a condition on a field by the few values that satisfy it: an index returns the documents of each value in
 * the query's order, and so of all values merged. Without this, the store would scan the whole order for matching
 * documents.
 */
const asValues = async (
  finder: Finder,
  collection: Collection,
  query: Query,
  field: string,
): Promise<Condition | undefined> => {
  const index = indexFor(collection, query, field);
  if (!index) return undefined;
  const known = collection.values?.[field];
  if (known) {
    const values = known.filter((value) => query.where.every((each) => each.field !== field || admits(each, value)));
    return { field, is: 'in', values };
  }
  const before = new Set(index.slice(0, index.indexOf(field)));
  const where = query.where.filter((each) => each.field === field || (before.has(each.field) && isEqual(each)));
  const orderBy = { field, direction: 'ascending' } as const;
  const { values, hasMore } = await finder.findDistinct(collection, { where, orderBy, limit: MAX_VALUES });
  return hasMore ? undefined : { field, is: 'in', values };
};

/** The kinds of conditions that `asValues` can replace by the list of values that satisfy them. */
const SPREAD: ReadonlySet<Condition['is']> = new Set(['<>', 'not in', '<', '<=', '>', '>=']);

const isSpreadable = (condition: Condition, { orderBy }: Query): boolean =>
  SPREAD.has(condition.is) && condition.field !== orderBy.field;

/** The whole number closest to the bound that satisfies the range. The parser of filters makes all bounds whole. */
const extremeOf = (is: Condition['is'], bound: number): number => {
  if (is === '>') return Math.floor(bound) + 1;
  return is === '<' ? Math.ceil(bound) - 1 : bound;
};

/** Translates a range to a bound on the column's coarser field, whose few values an index can look up. */
const classBound = ({ condition, column }: FilterTerm, { orderBy }: Query): readonly Condition[] => {
  if (!column?.classes || !isRange(condition) || condition.field === orderBy.field) return [];
  if (typeof condition.value !== 'number') return [];
  const { field, classOf } = column.classes;
  return [{ field, is: isLower(condition) ? '>=' : '<=', value: classOf(extremeOf(condition.is, condition.value)) }];
};

/**
 * Translates a range of a column that equals `field` plus `by` to a bound on `field`, the sort field: the extreme value
 * of `by` bounds the sum.
 */
const followBound = async (
  finder: Finder,
  collection: Collection,
  query: Query,
  { condition, column }: FilterTerm,
): Promise<readonly Condition[]> => {
  const follows = column?.follows;
  if (!follows || !isRange(condition) || follows.field !== query.orderBy.field) return [];
  if (typeof condition.value !== 'number') return [];
  const { by } = follows;
  const index = collection.indexes.find((fields) => fields.at(-1) === by);
  const where = query.where.filter((each) => isEqual(each) && index?.includes(each.field) === true);
  if (!index || where.length < index.length - 1) return [];
  const direction = isLower(condition) ? 'descending' : 'ascending';
  const { values } = await finder.findDistinct(collection, { where, orderBy: { field: by, direction }, limit: 1 });
  const [extreme] = values;
  if (typeof extreme !== 'number') return [{ field: follows.field, is: 'in', values: [] }];
  return [{ field: follows.field, is: condition.is, value: condition.value - extreme }];
};

/** Adds the substrings that a searched text must contain, where an index of them has the query's order. */
const searchBound = (collection: Collection, query: Query, { condition, column }: FilterTerm): readonly Condition[] => {
  const bound = column && containsAllOf(condition);
  if (!bound) return [];
  return searchOf(collection, { ...query, where: [...query.where, bound] }) ? [bound] : [];
};

const spread = async (finder: Finder, collection: Collection, query: Query): Promise<Query> => {
  for (const condition of query.where.filter((each) => isSpreadable(each, query))) {
    const { field } = condition;
    const values = await asValues(finder, collection, query, field);
    // Values that the store has found satisfy all conditions on the field; the values known beforehand have been
    // checked only against the conditions that are spread.
    const isMet = (each: Condition): boolean =>
      each.field === field && (!collection.values?.[field] || SPREAD.has(each.is));
    if (values) return { ...query, where: [...query.where.filter((each) => !isMet(each)), values] };
  }
  return query;
};

/**
 * Rewrites a query so that an index can serve it: adds the bounds that filters imply on indexed fields, and replaces
 * ranges and exclusions by the few values that satisfy them. The result is the same.
 *
 * @throws {QueryTooSlow} as `find`.
 */
export const narrowQuery = async (
  finder: Finder,
  collection: Collection,
  { terms, ...query }: FilteredQuery,
): Promise<Query> => {
  const filtered = { ...query, where: [...query.where, ...terms.map(({ condition }) => condition)] };
  const bounds = await Promise.all(
    terms.map(async (term) => [
      ...(term.column?.within ?? []),
      ...classBound(term, filtered),
      ...searchBound(collection, filtered, term),
      ...(await followBound(finder, collection, filtered, term)),
    ]),
  );
  return spread(finder, collection, { ...filtered, where: [...filtered.where, ...bounds.flat()] });
};
