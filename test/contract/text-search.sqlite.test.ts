import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { servingReadStore } from '../../projections/store/sqlite/serving-read-store.js';
import { sqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import { textSearchContract } from './text-search.contract.js';

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'flightlog-search-'));

textSearchContract('searches in SQLite', () =>
  Promise.resolve({ store: sqliteReadStore({ directory: newDirectory(), mode: 'read-write' }) }),
);

textSearchContract('searches of the serving thread', () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  let reader: ReturnType<typeof servingReadStore> | undefined;
  return Promise.resolve({ store, settle: () => Promise.resolve((reader ??= servingReadStore({ directory }))) });
});
