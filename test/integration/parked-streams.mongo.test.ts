import { describe } from 'vitest';
import { mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { parkedStreamsContract } from '../contract/parked-streams.contract.js';
import { mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

/** Runs of each property of the contract. */
const RUNS = 4;

describe.skipIf(mongoUrl === undefined)('in a MongoDB', () => {
  parkedStreamsContract(
    'parked streams, in MongoDB',
    () => mongoReadStore({ location: newMongoLocation(), logId: 'l' }),
    RUNS,
  );
});
