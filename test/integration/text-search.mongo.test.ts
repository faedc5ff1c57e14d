import { describe } from 'vitest';
import { mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { textSearchContract } from '../contract/text-search.contract.js';
import { mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

describe.skipIf(mongoUrl === undefined)('in a MongoDB', () => {
  textSearchContract(
    'searches in MongoDB',
    async () => ({ store: await mongoReadStore({ location: newMongoLocation(), logId: 'l', queryLimitMs: 60_000 }) }),
    { runs: 25 }, // generated cases: fewer than for the embedded store, because each takes longer
  );
});
