import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import { parkedStreamsContract } from './parked-streams.contract.js';

parkedStreamsContract(
  'parked streams, in SQLite',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-parked-'));
    return Promise.resolve(sqliteReadStore({ directory, mode: 'read-write' }));
  },
  40,
);
