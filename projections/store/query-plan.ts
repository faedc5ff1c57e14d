import type { Collection, Condition, Query } from '../runtime/read-store.js';
import { type Search, searchOf } from '../query/filters/trigrams.js';

/** Plan of a query: an index in the query's order, or a sort of all matching documents. */
export type Plan = {
  readonly index: readonly string[] | undefined;
  /** The alternatives of a split `in` condition; the index returns each in order, and the results are merged. */
  readonly alternatives: readonly (readonly Condition[])[];
  /** The search of indexed substrings that serves the query in its order, when there is one. */
  readonly search?: Search;
  /** True when the query reads more than its answer, for a filter, a sort or a far offset: it needs a time limit. */
  readonly scans: boolean;
};

type In = Extract<Condition, { is: 'in' | 'not in' }>;

/** An `in` condition with more values than this is not split into one index scan per value. */
const MAX_ALTERNATIVES = 16;

/** An offset above this takes long enough to need a time limit. */
const MAX_SKIP = 1_000;

const isFar = ({ offset = 0 }: Query): boolean => offset > MAX_SKIP;

const COMPARISONS = new Set(['<', '<=', '>', '>=']);

const isSplittable = (condition: Condition): condition is In =>
  condition.is === 'in' && condition.values.length > 0 && condition.values.length <= MAX_ALTERNATIVES;

const isEqual = (where: readonly Condition[], field: string): boolean =>
  where.some((each) => each.field === field && each.is === '=');

const fits = (index: readonly string[], where: readonly Condition[], sort: string): boolean => {
  if (index.at(-1) !== sort) return false;
  const open = index.slice(0, -1).filter((field) => !isEqual(where, field));
  return open.length <= 1 && open.every((field) => where.some((each) => each.field === field && isSplittable(each)));
};

const alternativesOf = (index: readonly string[], where: readonly Condition[]): readonly (readonly Condition[])[] => {
  const scope = index.slice(0, -1);
  const split = where.find(
    (each): each is In => isSplittable(each) && scope.includes(each.field) && !isEqual(where, each.field),
  );
  if (!split) return [where];
  const rest = where.filter((each) => each !== split);
  return [...new Set(split.values)].map((value) => [{ field: split.field, is: '=', value }, ...rest]);
};

const sorted = (where: readonly Condition[]): Plan => ({ index: undefined, alternatives: [where], scans: true });

const longest = (indexes: readonly (readonly string[])[]): readonly string[] | undefined =>
  indexes.toSorted((a, b) => b.length - a.length)[0];

/** True when no document can match a query, because a list of values in it is empty. */
export const isImpossible = ({ where }: Query): boolean =>
  where.some((each) => each.is === 'in' && each.values.length === 0);

/** Chooses the longest index that has the query's order once its other fields are bound. */
export const queryPlanOf = (collection: Collection, query: Query): Plan => {
  const sort = query.orderBy.field;
  const index = longest(collection.indexes.filter((each) => fits(each, query.where, sort)));
  if (!index) return sorted(query.where);
  const alternatives = alternativesOf(index, query.where);
  const isServed = (each: Condition): boolean =>
    (each.is === '=' && index.includes(each.field)) || (COMPARISONS.has(each.is) && each.field === sort);
  const isNarrow = (where: readonly Condition[]): boolean =>
    where.every(isServed) && where.filter((each) => each.is === '=').length < index.length;
  const search = searchOf(collection, query);
  return { index, alternatives, ...(search && { search }), scans: isFar(query) || !alternatives.every(isNarrow) };
};

/** Chooses an index that has the values of the sort field in order; fields after it do not matter. */
export const valuesPlanOf = (collection: Collection, query: Query): Plan => {
  const { where } = query;
  const sort = query.orderBy.field;
  const isOrdered = (index: readonly string[]): boolean =>
    index.includes(sort) && index.slice(0, index.indexOf(sort)).every((field) => isEqual(where, field));
  const index = longest(collection.indexes.filter(isOrdered).map((each) => each.slice(0, each.indexOf(sort) + 1)));
  if (!index) return sorted(where);
  const full = collection.indexes.find((each) => index.every((field, i) => each[i] === field));
  const isServed = (each: Condition): boolean =>
    each.field === sort ? COMPARISONS.has(each.is) : each.is === '=' && index.includes(each.field);
  return { index: full, alternatives: [where], scans: isFar(query) || !where.every(isServed) };
};
