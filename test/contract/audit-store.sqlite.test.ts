import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, expect, it } from 'vitest';

import { sqliteAuditStore } from '../../services/store/audit/sqlite-audit-store.js';
import { openAuditStore } from '../../services/main/access/audit.js';
import { AUDIT_ENTRY, auditStoreContract } from './audit-store.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-audit-'));

afterAll(() => rmSync(directory, { recursive: true }));

auditStoreContract('a data directory', () => Promise.resolve(sqliteAuditStore(directory)));

it('a write whose transaction SQLite itself has rolled back fails with the reason', async () => {
  const store = sqliteAuditStore(directory);
  await store.removeBefore(0);
  const db = new DatabaseSync(join(directory, 'audit.db'));
  db.exec(`CREATE TRIGGER refusing BEFORE INSERT ON entries BEGIN SELECT RAISE(ROLLBACK, 'no entry is accepted'); END`);
  await expect(store.write([AUDIT_ENTRY])).rejects.toThrow(/audit\.db: no entry is accepted/u);
  db.exec('DROP TRIGGER refusing');
  db.close();
  await store.close();
});

it('an audit whose file is no database cannot be opened, and says which file that is', async () => {
  const broken = join(directory, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'audit.db'), 'no database '.repeat(100));
  await expect(openAuditStore({ directory: broken, views: { kind: 'sqlite' } })).rejects.toThrow(
    `the audit store ${join(broken, 'audit.db')} cannot be used: file is not a database`,
  );
});
