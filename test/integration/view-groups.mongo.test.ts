import { describe } from 'vitest';
import { mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { viewGroupsContract } from '../contract/view-groups.contract.js';
import { mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

describe.skipIf(mongoUrl === undefined)('in a MongoDB', () => {
  viewGroupsContract(
    'groups of views, in MongoDB',
    (beforeCommit) => mongoReadStore({ location: newMongoLocation(), logId: 'l', beforeCommit }),
    3, // random sequences of releases and events
  );
});
