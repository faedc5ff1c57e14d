import type { Document } from 'mongodb';
import { QueryTooSlow } from '../../../services/kernel/fault.js';
import type { Collection, FieldValue, Query, ValueCounts } from '../../runtime/read-store.js';
import { separateExclusions, type FoundValues } from '../distinct-values.js';
import { isImpossible, valuesPlanOf, queryPlanOf } from '../query-plan.js';
import { originalValue, storedQuery } from '../stored-text.js';
import { tightened } from '../tightened-query.js';
import { filled, mongoFilter, joined, linkedDocumentStages } from './conditions.js';
import { type PageReader, findRows, type PageQuery, remainingMs } from './pages.js';
import { indexName, storedPath, collectionName } from './names.js';

type ValueRow = { readonly f: Readonly<Record<string, FieldValue>> };

const valuesAfter = ({ fields }: Collection, { orderBy, after }: Query): Document => {
  const path = storedPath(orderBy.field);
  const from = after?.value ?? null;
  if (from === null) return { [path]: filled(fields[orderBy.field]) };
  return { [path]: { [orderBy.direction === 'ascending' ? '$gt' : '$lt']: from } };
};

const nextQuery = (collection: Collection, index: readonly string[] | undefined, query: Query): PageQuery => {
  const path = storedPath(query.orderBy.field);
  return {
    filter: joined([mongoFilter(collection.fields, query.where), valuesAfter(collection, query)]),
    sort: { [path]: query.orderBy.direction === 'ascending' ? 1 : -1 },
    projection: { _id: 0, [path]: 1 },
    limit: 1,
    skip: 0,
    ...(index && { hint: indexName(index) }),
  };
};

/**
 * Finds the distinct values of a field one at a time, so that a value with ten thousand documents costs as much as a
 * value with one.
 */
export const values = async (reader: PageReader, collection: Collection, given: Query): Promise<FoundValues> => {
  if (isImpossible(given)) return { values: [], hasMore: false };
  const { rest: query, isExcluded } = separateExclusions(storedQuery(given));
  const { index } = valuesPlanOf(collection, query);
  const skip = query.offset ?? 0;
  const found: FieldValue[] = [];
  let after = query.after;
  while (found.length <= skip + query.limit) {
    if (performance.now() > reader.until) throw new QueryTooSlow('the query took longer than its time limit');
    const next = tightened({ ...query, ...(after && { after }) });
    const pageQuery = nextQuery(collection, index, next);
    await reader.onQuery?.(pageQuery);
    const [row] = await findRows<ValueRow>(reader, collection, query.where, pageQuery).toArray();
    if (!row) return { values: found.slice(skip).map(originalValue), hasMore: false };
    const value = row.f[query.orderBy.field] ?? null;
    if (!isExcluded(value)) found.push(value);
    after = { value, key: '' };
  }
  return { values: found.slice(skip, -1).map(originalValue), hasMore: true };
};

type CountRow = { readonly _id: FieldValue; readonly count: number };

/** Counts the documents that match a query by the values of a field, over the index that has the query's order. */
export const counts = async (
  { db, build, until }: PageReader,
  collection: Collection,
  given: Query,
  by: string,
): Promise<ValueCounts> => {
  if (isImpossible(given)) return new Map();
  const query = storedQuery(given);
  const { index } = queryPlanOf(collection, query);
  const path = storedPath(by);
  const filter = mongoFilter(collection.fields, query.where);
  const rows = await db
    .collection(collectionName(collection, build))
    .aggregate<CountRow>(
      [
        { $match: joined([filter, { [path]: filled(collection.fields[by]) }]) },
        ...linkedDocumentStages(query.where, build),
        { $group: { _id: `$${path}`, count: { $sum: 1 } } },
      ],
      { maxTimeMS: remainingMs(until), ...(index && { hint: indexName(index) }) },
    )
    .toArray();
  return new Map(rows.map(({ _id, count }) => [originalValue(_id), count]));
};
