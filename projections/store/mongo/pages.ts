import type { AggregationCursor, Db, Document, FindCursor } from 'mongodb';
import type { Collection, Found, Query } from '../../runtime/read-store.js';
import { assertPageBytes } from '../page-bytes.js';
import { isImpossible, queryPlanOf } from '../query-plan.js';
import { originalText, storedQuery } from '../stored-text.js';
import { excludesEmpty, tightened } from '../tightened-query.js';
import { filled, mongoFilter, isKeyOf, joined, linkedDocumentStages, searchFilter } from './conditions.js';
import { type StoredField, fieldValueOf } from './documents.js';
import { loaded, type Loadable } from './large-documents.js';
import { type Build, collectionName, indexName, storedPath, searchIndexName } from './names.js';

/** The build that is queried, and the deadline in milliseconds of `performance.now()`. */
export type PageReader = {
  readonly db: Db;
  readonly build: Build;
  readonly until: number;
  /** Called before each query to the server. */
  readonly onQuery?: (pageQuery: PageQuery) => Promise<void>;
};

/** One query to the server; a page may need several. */
export type PageQuery = {
  readonly filter: Document;
  readonly sort: Readonly<Record<string, 1 | -1>>;
  readonly projection: Document;
  readonly limit: number;
  readonly skip: number;
  /** The name of the index that serves it. */
  readonly hint?: string;
};

type PageRow = Loadable & { readonly f?: Readonly<Record<string, StoredField>> };

/** Documents per batch of a cursor. */
const MAX_ROWS = 1_000;

/** Largest limit of a page. The server is asked for one document more, and accepts at most 2^31 - 1. */
const MAX_LIMIT = 2 ** 31 - 2;

/** Milliseconds until the deadline of a query, at least one. */
export const remainingMs = (until: number): number => Math.max(1, Math.ceil(until - performance.now()));

/** Prepares one query; the caller reads the cursor or has it explained. */
export const findRows = <Row extends Document>(
  { db, build, until }: PageReader,
  collection: Collection,
  where: Query['where'],
  { filter, sort, projection, limit, skip, hint }: PageQuery,
): FindCursor<Row> | AggregationCursor<Row> => {
  const rows = db.collection(collectionName(collection, build));
  const options = {
    maxTimeMS: remainingMs(until),
    batchSize: Math.min(limit, MAX_ROWS),
    ...(hint !== undefined && { hint }),
  };
  if (!where.some(isKeyOf)) return rows.find<Row>(filter, { ...options, sort, projection, limit, skip });
  const stages = [{ $match: filter }, { $sort: sort }, ...linkedDocumentStages(where, build)];
  return rows.aggregate<Row>([...stages, { $skip: skip }, { $limit: limit }, { $project: projection }], {
    ...options,
    allowDiskUse: true,
  });
};

/**
 * Ranges of the order that follow the cursor, in order. Each is one contiguous range of an index; a disjunction of two
 * would be scanned from the beginning.
 */
const partsAfter = ({ fields }: Collection, query: Query): readonly Document[] => {
  const { orderBy, after } = query;
  if (!after) return [{}];
  const path = storedPath(orderBy.field);
  const isUp = orderBy.direction === 'ascending';
  const operator = isUp ? '$gt' : '$lt';
  const same = { [path]: { $eq: after.value }, _id: { [operator]: after.key } };
  if (after.value !== null)
    return [
      same,
      { [path]: { [operator]: after.value } },
      ...(isUp || excludesEmpty(query) ? [] : [{ [path]: { $eq: null } }]),
    ];
  return isUp ? [same, { [path]: filled(fields[orderBy.field]) }] : [same];
};

const pageQueriesOf = (collection: Collection, query: Query): readonly Omit<PageQuery, 'limit'>[] => {
  const path = storedPath(query.orderBy.field);
  const direction = query.orderBy.direction === 'ascending' ? 1 : -1;
  const { index, search } = queryPlanOf(collection, query);
  const fields = query.where.filter(({ is }) => !search || is !== 'contains all');
  const conditions = [
    mongoFilter(collection.fields, fields),
    ...(search ? [searchFilter(collection.searched, search)] : []),
  ];
  const searches = collection.searched ?? [];
  const hint = search ? searchIndexName(searches.indexOf(search.searched)) : index && indexName(index);
  return partsAfter(collection, query).map((condition) => ({
    filter: joined([...conditions, condition]),
    sort: { [path]: direction, _id: direction },
    projection: { _id: 1, [path]: 1, element: 1, large: 1, position: 1, rewrites: 1 },
    skip: query.offset ?? 0,
    ...(hint !== undefined && { hint }),
  }));
};

async function* rowsOf(reader: PageReader, collection: Collection, query: Query): AsyncGenerator<PageRow, void> {
  let missing = query.limit;
  for (const pageQuery of pageQueriesOf(collection, query)) {
    const limited = { ...pageQuery, limit: missing };
    await reader.onQuery?.(limited);
    for await (const row of findRows<PageRow>(reader, collection, query.where, limited)) {
      missing -= 1;
      yield row;
    }
    if (missing === 0) return;
  }
}

/**
 * Finds a page.
 *
 * @throws {PageTooLarge} when the page exceeds the limit of a response.
 */
export const findPage = async (reader: PageReader, collection: Collection, given: Query): Promise<Found> => {
  if (isImpossible(given)) return { elements: [] };
  const query = tightened(storedQuery(given));
  const limit = Math.min(query.limit, MAX_LIMIT);
  const elements: Uint8Array[] = [];
  let bytes = 0;
  let last: PageRow | undefined;
  // One more document than requested shows whether more follow.
  for await (const row of rowsOf(reader, collection, { ...query, limit: limit + 1 })) {
    if (elements.length === limit && last)
      return { elements, next: { value: fieldValueOf(last.f?.[query.orderBy.field]), key: originalText(last._id) } };
    const found = await loaded(reader.db, reader.build, collectionName(collection, reader.build), row);
    bytes += found.bytes.element.length;
    assertPageBytes(bytes);
    elements.push(found.bytes.element);
    last = row;
  }
  return { elements };
};
