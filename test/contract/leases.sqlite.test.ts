import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

import { sqliteLeases } from '../../projections/store/sqlite/sqlite-leases.js';
import { leasesContract } from './leases.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-leases-'));

afterAll(() => rmSync(directory, { recursive: true }));

leasesContract('a data directory', () => sqliteLeases({ directory }));
