import { randomUUID } from 'node:crypto';
import { type Database, logPath, openForReading, openForWriting, setCopyOf } from './schema.js';
import { openFault } from './sqlite-fault.js';

/** The identities of a log before and after its renewal. */
export type RenewedLogId = { readonly before: string; readonly after: string };

/** The identity of a log, and that of the log that it was a copy of; `undefined` when it was no copy. */
export type TakenOver = { readonly logId: string; readonly copyOf: string | undefined };

type OpenLog = { readonly db: Database } & TakenOver;

/** @throws {DataDirectoryUnusable} when there is no log, or one that cannot be used. */
const changed = <Result>(directory: string, change: (log: OpenLog) => Result): Result => {
  const path = logPath(directory);
  try {
    openForReading(path).db.close(); // opening for writing would create a missing log
    const log = openForWriting(path, 'FULL');
    try {
      const result = change(log);
      // The file alone is copied and moved, without the write-ahead log.
      log.db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return result;
    } finally {
      log.db.close();
    }
  } catch (error) {
    throw openFault(path, error);
  }
};

/**
 * Gives the log of a data directory a new identity: positions that were given out before are then refused instead of
 * being mixed with its own. The caller must hold the lock of the directory.
 *
 * @param isCopy true when the original log stays in use: this log is then a copy of it until it takes over.
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be used.
 */
export const renewLogId = (directory: string, isCopy: boolean): RenewedLogId =>
  changed(directory, ({ db, logId: before }) => {
    const after = randomUUID();
    db.exec('BEGIN IMMEDIATE');
    db.prepare(`UPDATE meta SET value = ? WHERE key = 'log-id'`).run(after);
    if (isCopy) setCopyOf(db, before);
    db.exec('COMMIT');
    return { before, after };
  });

/**
 * Notes that the log of a data directory is a copy of another. Its writer may be open.
 *
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be used.
 */
export const markLogCopy = (directory: string, original: string): void =>
  changed(directory, ({ db }) => setCopyOf(db, original));

/**
 * Notes that the log of a data directory is no longer a copy. The caller must hold the lock of the directory.
 *
 * @returns its identity, and what it was a copy of.
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be used.
 */
export const takeLogOver = (directory: string): TakenOver =>
  changed(directory, ({ db, logId, copyOf }) => {
    setCopyOf(db, undefined);
    return { logId, copyOf };
  });
