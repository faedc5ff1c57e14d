import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { sqliteLeases } from '../../projections/store/sqlite/sqlite-leases.js';
import { leasesContract } from './leases.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-leases-'));

afterAll(() => rmSync(directory, { recursive: true }));

leasesContract('a data directory', () => sqliteLeases({ directory }));

it('leases whose file is damaged cannot be opened, and the error names the file to remove', async () => {
  const damaged = join(directory, 'damaged');
  mkdirSync(damaged);
  writeFileSync(join(damaged, 'claims.db'), 'no database'.repeat(1_000));
  await expect(sqliteLeases({ directory: damaged })).rejects.toThrow(/^the leases are damaged .*: remove claims\.db /u);
});
