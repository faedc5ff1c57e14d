import type { Collection, FieldValue, Query, ValueCounts } from '../../runtime/read-store.js';
import { planOf } from '../query-plan.js';
import { originalValue, storedQuery } from '../stored-text.js';
import { filled, filterOf, joined, linkedDocumentStages } from './conditions.js';
import { collectionName, indexName, pathOf } from './names.js';
import { isImpossible, type PageReader, remainingMs } from './pages.js';

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
  const { index } = planOf(collection, query);
  const path = pathOf(by);
  const own = filterOf(collection.fields, query.where);
  const rows = await db
    .collection(collectionName(collection, build))
    .aggregate<CountRow>(
      [
        { $match: joined([own, { [path]: filled(collection.fields[by]) }]) },
        ...linkedDocumentStages(query.where, build),
        { $group: { _id: `$${path}`, count: { $sum: 1 } } },
      ],
      { maxTimeMS: remainingMs(until), ...(index && { hint: indexName(index) }) },
    )
    .toArray();
  return new Map(rows.map(({ _id, count }) => [originalValue(_id), count]));
};
