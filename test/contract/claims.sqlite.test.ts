import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

import { sqliteClaims } from '../../projections/store/sqlite/sqlite-claims.js';
import { claimsContract } from './claims.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-claims-'));

afterAll(() => rmSync(directory, { recursive: true }));

claimsContract('a data directory', () => sqliteClaims({ directory }));
