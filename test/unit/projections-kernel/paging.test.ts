import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, it } from 'vitest';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { assertPagesOnce } from '../../support/views/paging-property.js';

const store = sqliteReadStore({ directory: mkdtempSync(join(tmpdir(), 'flightlog-paging-')), mode: 'read-write' });
afterAll(() => store.close());

it('lists, page by page, have each document that was there at the start once, while others are added', async () => {
  await assertPagesOnce(store, { runs: 120, documents: 40, leastLimit: 1 });
}, 20_000);
