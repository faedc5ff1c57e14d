import type { Collection, Condition, Query } from '../kernel/read-store.js';

/** How a query is answered: over an index that has its order, or by sorting all that fits. */
export type Plan = {
  readonly index: readonly string[] | undefined;
  /** Conditions that come in several alternatives, each of which the index has in order. */
  readonly alternatives: readonly (readonly Condition[])[];
  /** True when rows that do not fit are walked over, so that the query needs a limit of time. */
  readonly walks: boolean;
};

type In = Extract<Condition, { is: 'in' | 'not in' }>;

/** More values than this are not worth a walk each. */
const MAX_ALTERNATIVES = 16;

/** Skipping more rows than this takes long enough to need a limit. */
const MAX_SKIP = 1_000;

const COMPARISONS = new Set(['<', '<=', '>', '>=']);

const isSplittable = (condition: Condition): condition is In =>
  condition.is === 'in' && condition.values.length > 0 && condition.values.length <= MAX_ALTERNATIVES;

const fits = (index: readonly string[], where: readonly Condition[], sort: string): boolean => {
  if (index.at(-1) !== sort) return false;
  const scope = index.slice(0, -1).map((field) => where.filter((each) => each.field === field));
  const isBound = (conditions: readonly Condition[]): boolean =>
    conditions.some((each) => each.is === '=' || isSplittable(each));
  const splits = scope.filter((conditions) => !conditions.some((each) => each.is === '='));
  return scope.every(isBound) && splits.length <= 1;
};

const alternativesOf = (index: readonly string[], where: readonly Condition[]): readonly (readonly Condition[])[] => {
  const scope = index.slice(0, -1);
  const bound = new Set(where.filter((each) => each.is === '=').map((each) => each.field));
  const split = where.find(
    (each): each is In => isSplittable(each) && scope.includes(each.field) && !bound.has(each.field),
  );
  if (!split) return [where];
  const rest = where.filter((each) => each !== split);
  return [...new Set(split.values)].map((value) => [{ field: split.field, is: '=', value }, ...rest]);
};

/** Chooses the longest index that has the order of a query once its scope is bound. */
export const planOf = (collection: Collection, query: Query): Plan => {
  const sort = query.orderBy.field;
  const [index] = collection.indexes
    .filter((each) => fits(each, query.where, sort))
    .toSorted((a, b) => b.length - a.length);
  if (!index) return { index: undefined, alternatives: [query.where], walks: true };
  const alternatives = alternativesOf(index, query.where);
  const isServed = (each: Condition): boolean =>
    (each.is === '=' && index.includes(each.field)) || (COMPARISONS.has(each.is) && each.field === sort);
  const isNarrow = (where: readonly Condition[]): boolean =>
    where.every(isServed) && where.filter((each) => each.is === '=').length < index.length;
  const isFar = (query.offset ?? 0) > MAX_SKIP;
  return { index, alternatives, walks: isFar || !alternatives.every(isNarrow) };
};
