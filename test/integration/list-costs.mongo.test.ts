import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Listed, listNames, listPage } from '../../projections/query/list-query.js';
import type { Collection, Query } from '../../projections/runtime/read-store.js';
import type { ExplainedQuery } from '../../projections/store/mongo/explanations.js';
import { type MongoReadStore, mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { ABSENT, ASKED } from '../support/views/list-shapes.js';
import { fillWithMany } from '../support/views/many-documents.js';
import { countsWhatItExamines, dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

/** Documents of a page. */
const LIMIT = 25;
/** The most keys of an index that a page may examine. */
const MAX_KEYS = 5 * LIMIT;
/**
 * Executions; of other documents, there are half as many. Few on a server that does not count the keys and documents
 * that a query examines.
 */
const COUNT = countsWhatItExamines ? 5_000 : 200;

describe.skipIf(mongoUrl === undefined)(`a page of ${LIMIT} in a MongoDB with ${COUNT} executions`, () => {
  const location = newMongoLocation();
  let store: MongoReadStore;
  beforeAll(async () => {
    store = await mongoReadStore({ location, logId: 'l', queryLimitMs: 60_000 });
    await fillWithMany(store, COUNT, new Uint8Array(100));
  }, 180_000);
  afterAll(async () => {
    await store.close();
    await dropDatabase(location);
  });

  it.each(ASKED)('is read from an index: %s', async (name, asked, requestOf) => {
    const explanations: ExplainedQuery[] = [];
    const explain = async (collection: Collection, query: Query, method: 'find' | 'findDistinct'): Promise<void> => {
      explanations.push(...(await store.explain(collection, query, method)));
    };
    const explaining = {
      ...store,
      find: async (collection: Collection, query: Query) => {
        await explain(collection, query, 'find');
        return store.find(collection, query);
      },
      findDistinct: async (collection: Collection, query: Query) => {
        await explain(collection, query, 'findDistinct');
        return store.findDistinct(collection, query);
      },
    };
    const { scope, order, direction = 'descending', isOfNames, ...list } = asked;
    const listed: Listed = { rpc: 'List', store: explaining, ...list, order: { field: order, direction } };
    const request = { limit: LIMIT, token: '', filters: '', ...requestOf(COUNT) };
    const found = isOfNames
      ? (await listNames(listed, scope, request)).values
      : (await listPage(listed, scope, request)).elements;
    expect(found.length === 0).toBe(ABSENT.has(name));
    const stages = explanations.map((each) => each.stages);
    expect(stages).not.toEqual([]);
    expect(stages.filter((each) => !each.includes('IXSCAN') || each.includes('COLLSCAN'))).toEqual([]);
    if (!countsWhatItExamines) return;
    expect(explanations.reduce((sum, { keys }) => sum + keys, 0)).toBeLessThanOrEqual(MAX_KEYS);
    expect(stages.filter((each) => each.includes('SORT'))).toEqual([]);
  });
});
