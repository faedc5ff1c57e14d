import type { Document } from 'mongodb';
import type { Collection, Condition, FieldType, FieldValue } from '../../runtime/read-store.js';
import { queryTrigrams, LONG_TEXT, trigramHashes, type Search } from '../../query/filters/trigrams.js';
import { type Build, collectionName, storedPath, searchPath } from './names.js';
import { containing, likeExpression } from './regular-expressions.js';

/** Query operators for the value of one field. */
type Operators = Readonly<Record<string, unknown>>;

/** A condition on a document of another collection. */
export type KeyOf = Extract<Condition, { is: 'key of' }>;

type FieldCondition = Exclude<Condition, { is: 'key of' | 'has pair' | 'contains all' }>;

const NEVER: Operators = { $in: [] };

/**
 * Matches non-empty fields. Empty fields are null: as in SQL, neither a comparison nor a negated condition may match
 * them.
 */
const FILLED: Readonly<Record<FieldType, Operators>> = {
  text: { $gte: '' },
  integer: { $gte: -Infinity },
  real: { $gte: -Infinity },
  pairs: { $type: 'array' },
};

const COMPARISONS = { '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const;

/** Operators that match a non-empty field of a type. */
export const filled = (type: FieldType = 'text'): Operators => FILLED[type];

const isFilled = (value: FieldValue): boolean => value !== null;

const membership = ({ is, values }: Extract<FieldCondition, { is: 'in' | 'not in' }>, type: FieldType): Operators => {
  if (is === 'in') return { $in: values.filter(isFilled) };
  return values.every(isFilled) ? { $nin: values, ...filled(type) } : NEVER;
};

const compared = (is: '=' | '<>' | keyof typeof COMPARISONS, value: FieldValue, type: FieldType): Operators => {
  if (is === '=') return { $eq: value };
  if (is === '<>') return value === null ? filled(type) : { $ne: value, ...filled(type) };
  return value === null ? NEVER : { [COMPARISONS[is]]: value };
};

const operatorsOf = (condition: FieldCondition, type: FieldType): Operators => {
  if ('values' in condition) return membership(condition, type);
  if ('pattern' in condition) {
    const expression = { $regex: likeExpression(condition.pattern) };
    return condition.is === 'like' ? expression : { $not: expression, ...filled(type) };
  }
  if (condition.is === 'contains') return { $regex: containing(condition.value) };
  return compared(condition.is, condition.value, type);
};

/** Splits a filter into filters that must all hold. */
const conjuncts = (filter: Document): readonly Document[] => {
  const { $and: together = [], ...fieldFilter } = filter as { $and?: readonly Document[] };
  return [fieldFilter, ...together];
};

/** Combines filters that must all hold into one; operators on the same field are merged unless they clash. */
export const joined = (filters: readonly Document[]): Document => {
  const all: Record<string, Operators> = {};
  const rest: Document[] = [];
  for (const filter of filters.flatMap(conjuncts)) {
    for (const [path, operators] of Object.entries(filter) as [string, Operators][]) {
      const known = all[path];
      const isClash = known !== undefined && Object.keys(operators).some((operator) => operator in known);
      if (isClash) rest.push({ [path]: operators });
      else all[path] = { ...known, ...operators };
    }
  }
  return rest.length === 0 ? all : { $and: [all, ...rest] };
};

const pair = (condition: Condition): Document =>
  'where' in condition || 'texts' in condition ? {} : { [condition.field]: operatorsOf(condition, 'text') };

/** True for a condition on a document of another collection. */
export const isKeyOf = (condition: Condition): condition is KeyOf => condition.is === 'key of';

/** Converts conditions on a document's own fields to a filter. */
export const mongoFilter = (fields: Collection['fields'], where: readonly Condition[]): Document =>
  joined(
    where.flatMap((condition) => {
      if (isKeyOf(condition)) return [];
      const path = storedPath(condition.field);
      if ('texts' in condition) return condition.texts.map((text) => ({ [path]: { $regex: containing(text) } }));
      if ('where' in condition) return [{ [path]: { $elemMatch: joined(condition.where.map(pair)) } }];
      return [{ [path]: operatorsOf(condition, fields[condition.field] ?? 'text') }];
    }),
  );

/**
 * Converts a search to a filter: it matches documents that contain all trigrams, or whose text is too long to be
 * indexed.
 */
export const searchFilter = (searches: Collection['searched'] = [], { searched, scope, texts }: Search): Document => {
  const [long, ...numbers] = trigramHashes(scope, [LONG_TEXT, ...queryTrigrams(texts)]);
  return joined(numbers.map((number) => ({ [searchPath(searches.indexOf(searched))]: { $in: [number, long] } })));
};

/** Pipeline stages that drop documents whose linked document, in another collection, does not match. */
export const linkedDocumentStages = (where: readonly Condition[], build: Build): readonly Document[] =>
  where.filter(isKeyOf).flatMap((condition) => [
    {
      $lookup: {
        from: collectionName(condition.collection, build),
        localField: storedPath(condition.field),
        foreignField: '_id',
        pipeline: [
          { $match: mongoFilter(condition.collection.fields, condition.where) },
          ...linkedDocumentStages(condition.where, build),
          { $project: { _id: 1 } },
        ],
        as: 'found',
      },
    },
    { $match: { 'found.0': { $exists: true } } },
    { $unset: 'found' },
  ]);
