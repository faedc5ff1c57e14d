import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { AuditEntry, AuditQuery, AuditStore, StoredAuditEntry } from '../../kernel/ports/audit-trail.js';
import type { Blocking } from '../thread-calls.js';
import { createPrivately } from '../private-file.js';

/**
 * The table of entries. Refusals that differ only in time and request id, and come shortly after each other, are one
 * entry: `count` is their number, `at_ms` and `last_at_ms` are the times of the first and the last. `position` is the
 * position of the log that the answer reflects, if any.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL,
    count INTEGER NOT NULL, principal TEXT NOT NULL, issuer TEXT NOT NULL, client_id TEXT NOT NULL,
    transport TEXT NOT NULL, address TEXT NOT NULL, action TEXT NOT NULL, project TEXT NOT NULL, domain TEXT NOT NULL,
    name TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, request_id TEXT NOT NULL, position INTEGER
  );
  CREATE INDEX IF NOT EXISTS entries_by_time ON entries (last_at_ms);
  CREATE INDEX IF NOT EXISTS entries_by_project ON entries (project, id);
  CREATE INDEX IF NOT EXISTS entries_by_principal ON entries (principal, id);
`;

const INSERT = `
  INSERT INTO entries (kind, at_ms, last_at_ms, count, principal, issuer, client_id, transport, address, action,
    project, domain, name, code, reason, request_id, position)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
`;

const COLUMNS = `CAST(id AS TEXT) AS id, kind, at_ms AS atMs, last_at_ms AS lastAtMs, count, principal, issuer,
  client_id AS clientId, transport, address, action, project, domain, name, code, reason, request_id AS requestId,
  CAST(position AS TEXT) AS position`;

const BUSY_TIMEOUT_MS = 5_000;

type Row = Omit<StoredAuditEntry, 'id' | 'position'> & { readonly id: string; readonly position: string | null };

const entryOf = ({ id, position, ...same }: Row): StoredAuditEntry => ({
  ...same,
  id: BigInt(id),
  position: position === null ? undefined : BigInt(position),
});

/**
 * The number of the newest entries that are looked up by time, so that a list of them does not read the older ones. To
 * look up more takes longer than to read the table.
 */
const MAX_RECENT = 50_000;

const RECENT = `
  SELECT COUNT(*) AS count, CAST(COALESCE(MIN(id) - 1, (SELECT MAX(id) FROM entries), 0) AS TEXT) AS before
  FROM (SELECT id FROM entries WHERE last_at_ms >= ? LIMIT ${MAX_RECENT + 1})
`;

type Recent = { readonly count: number; readonly before: string };

/** Makes the SQL condition of a query and the values of its parameters, in their order. */
const conditionOf = ({ project, domain, actor, sinceMs, after }: AuditQuery) => {
  const equal = Object.entries({ project, domain, principal: actor }).filter(([, value]) => value !== '');
  return {
    condition: ['id > ?', 'last_at_ms >= ?', ...equal.map(([column]) => `${column} = ?`)].join(' AND '),
    values: [after, sinceMs, ...equal.map(([, value]) => value)],
  };
};

const valuesOf = (entry: AuditEntry) => [
  ...[entry.kind, entry.atMs, entry.lastAtMs, entry.count, entry.principal, entry.issuer, entry.clientId],
  ...[entry.transport, entry.address, entry.action, entry.project, entry.domain, entry.name, entry.code],
  ...[entry.reason, entry.requestId, entry.position ?? null],
];

/**
 * Opens the audit entries in a data directory, and creates their file if it is missing; only the user of the process
 * can read it. Every method blocks the thread until the disk has answered.
 */
export const auditDatabase = (directory: string): Blocking<AuditStore> => {
  const path = join(directory, 'audit.db');
  createPrivately(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${SCHEMA}`);
  const insert = db.prepare(INSERT);
  const recent = db.prepare(RECENT);
  /** The id after which the entries of a query are: they need not be in the order of their times. */
  const startOf = ({ after, sinceMs }: AuditQuery): bigint => {
    if (after > 0n || sinceMs <= 0) return after;
    const { count, before } = recent.get(sinceMs) as Recent;
    return count > MAX_RECENT ? after : BigInt(before);
  };
  const removeBefore = db.prepare('DELETE FROM entries WHERE last_at_ms < ?');
  return {
    write: (entries) => {
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const entry of entries) insert.run(...valuesOf(entry));
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK'); // after some errors, SQLite has rolled back already
        throw error;
      }
    },
    list: (query) => {
      const { condition, values } = conditionOf({ ...query, after: startOf(query) });
      const statement = db.prepare(`SELECT ${COLUMNS} FROM entries WHERE ${condition} ORDER BY entries.id LIMIT ?`);
      return (statement.all(...values, query.limit) as Row[]).map(entryOf);
    },
    removeBefore: (ms) => void removeBefore.run(ms),
    close: () => db.close(),
  };
};
