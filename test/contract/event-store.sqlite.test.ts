import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { eventStoreContract } from './event-store.contract.js';

eventStoreContract('the log in SQLite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-log-'));
  const open = () => sqliteEventStore({ directory });
  return { store: await open(), reopen: open };
});
