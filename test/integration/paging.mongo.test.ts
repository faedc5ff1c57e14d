import { afterAll, beforeAll, describe, it } from 'vitest';
import { type MongoReadStore, mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { assertPagesOnce } from '../support/views/paging-property.js';

describe.skipIf(mongoUrl === undefined)('lists in a MongoDB', () => {
  const location = newMongoLocation();
  let store: MongoReadStore;
  beforeAll(async () => {
    store = await mongoReadStore({ location, logId: 'l', queryLimitMs: 60_000 });
  });
  afterAll(async () => {
    await store.close();
    await dropDatabase(location);
  });

  it('have each document once over all pages, by any filter and in any order, while others are added', async () => {
    await assertPagesOnce(store, { runs: 60, documents: 20, leastLimit: 3 });
  }, 180_000);
});
