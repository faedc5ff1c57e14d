import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { DataDirectoryUnusable } from '../../kernel/fault.js';

/** A connection to an SQLite file. */
export type Database = InstanceType<typeof DatabaseSync>;

/** A prepared statement. */
export type Statement = ReturnType<Database['prepare']>;

/** Absolute path of the log in a data directory. */
export const logPath = (directory: string): string => join(resolve(directory), 'log.db');

const SCHEMA_VERSION = 1;

/** Marks the file as a log in its header: `flog`. */
const APPLICATION_ID = 0x666c6f67;

const BUSY_TIMEOUT_MS = 5_000;

/**
 * `position` has no gaps and starts at 1. A `kind` is a category and a type together, so that a filter by either is a
 * set of kinds. `rare_kind` repeats a kind that is not hot, so that filters on such kinds scan a small index.
 */
const SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE kinds (
    id INTEGER PRIMARY KEY, category TEXT NOT NULL, type TEXT NOT NULL, is_hot INTEGER NOT NULL, UNIQUE (category, type)
  );
  CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    rare_kind INTEGER,
    id BLOB NOT NULL,
    metadata TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (stream, revision)
  );
  CREATE INDEX rare_events ON events (rare_kind) WHERE rare_kind IS NOT NULL;
`;

const numberOf = (db: Database, pragma: string): number =>
  Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() as object)[0]);

const isEmpty = (db: Database): boolean => numberOf(db, 'schema_version') === 0;

/** Identity and head position of an open log, and the id of the log that it is a copy of, until it takes over. */
export type LogFacts = { readonly logId: string; readonly head: number; readonly copyOf: string | undefined };

const COPY_OF = 'copy-of';

const metaOf = (db: Database, key: string): string | undefined =>
  (db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined)?.value;

const checked = (db: Database, path: string): LogFacts => {
  const refuse = (reason: string): never => {
    throw new DataDirectoryUnusable(`log ${path} cannot be used: ${reason}`);
  };
  if (numberOf(db, 'application_id') !== APPLICATION_ID) refuse('it is not a log of flightlog');
  const version = Number(metaOf(db, 'schema-version'));
  if (version > SCHEMA_VERSION)
    refuse(`a newer release has written it (schema version ${version}; this release knows ${SCHEMA_VERSION})`);
  const logId = metaOf(db, 'log-id') ?? refuse('it is damaged: it has no identity');
  // Reads the whole last event: this fails if the file was truncated.
  const last = db.prepare('SELECT * FROM events ORDER BY position DESC LIMIT 1').get() as
    | { position: number }
    | undefined;
  return { logId, head: last?.position ?? 0, copyOf: metaOf(db, COPY_OF) };
};

/** Notes what an open log is a copy of; `undefined` for a log that takes over. */
export const setCopyOf = (db: Database, original: string | undefined): void => {
  if (original === undefined) db.prepare('DELETE FROM meta WHERE key = ?').run(COPY_OF);
  else db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(COPY_OF, original);
};

const create = (db: Database): void => {
  db.exec('BEGIN IMMEDIATE');
  db.exec(SCHEMA);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  const insert = db.prepare('INSERT INTO meta VALUES (?, ?)');
  insert.run('schema-version', String(SCHEMA_VERSION));
  insert.run('log-id', randomUUID());
  db.exec('COMMIT');
};

/** When SQLite syncs to disk; `OFF` is for tests alone. */
export type Synchronous = 'FULL' | 'OFF';

// 4,000 pages are 16 MB of write-ahead log. With 1,000, checkpoints make one commit in a hundred ten times slower.
const settings = (synchronous: Synchronous): string => `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${synchronous};
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 33554432;
  PRAGMA cache_size = -32768;
`;

const opened = <Result>(db: Database, use: () => Result): Result => {
  try {
    return use();
  } catch (error) {
    db.close();
    throw error;
  }
};

/**
 * Opens the log for its only writer, or for a change of its `meta`, and creates it if missing. A log that cannot be
 * used is left unchanged.
 */
export const openForWriting = (path: string, synchronous: Synchronous): LogFacts & { readonly db: Database } => {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  return opened(db, () => {
    const isNew = isEmpty(db);
    if (!isNew) checked(db, path);
    db.exec(settings(synchronous));
    if (isNew) create(db);
    return { ...checked(db, path), db };
  });
};

/** Opens the log read-only, with or without a running writer. */
export const openForReading = (path: string): LogFacts & { readonly db: Database } => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  return opened(db, () => ({ ...checked(db, path), db }));
};
