import { describe } from 'vitest';
import { mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { readStoreContract } from '../contract/read-store.contract.js';
import { countsWhatItExamines, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

describe.skipIf(mongoUrl === undefined)('with a MongoDB', () => {
  readStoreContract(
    'the MongoDB read store',
    async () => {
      const location = newMongoLocation();
      return {
        store: await mongoReadStore({ location, logId: 'log' }),
        reopen: () => mongoReadStore({ location }),
      };
    },
    { counts: countsWhatItExamines, pagings: 10 },
  );
});
