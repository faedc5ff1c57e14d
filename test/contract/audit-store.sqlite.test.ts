import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

import { sqliteAuditStore } from '../../services/store/audit/sqlite-audit-store.js';
import { auditStoreContract } from './audit-store.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-audit-'));

afterAll(() => rmSync(directory, { recursive: true }));

auditStoreContract('a data directory', () => Promise.resolve(sqliteAuditStore(directory)));
