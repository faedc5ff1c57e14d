import { sqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import { viewGroupsContract } from './view-groups.contract.js';

viewGroupsContract(
  'groups of views, in SQLite',
  (beforeCommit) => Promise.resolve(sqliteReadStore({ directory: undefined, mode: 'read-write', beforeCommit })),
  12,
);
