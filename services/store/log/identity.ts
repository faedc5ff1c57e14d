import { randomUUID } from 'node:crypto';
import { logPath, openForReading, openForWriting } from './schema.js';
import { openFault } from './sqlite-fault.js';

/** The identity of a log before and after it was given another. */
export type RenewedLogId = { readonly before: string; readonly after: string };

const renewed = (path: string): RenewedLogId => {
  openForReading(path).db.close(); // the writer would make a log where there is none
  const { db, logId: before } = openForWriting(path, 'FULL');
  const after = randomUUID();
  db.prepare(`UPDATE meta SET value = ? WHERE key = 'log-id'`).run(after);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return { before, after };
};

/**
 * Gives the log of a data directory an identity of its own, for a copy or a restored backup: positions that were given
 * out by its original are then refused and not mixed with its own. The caller holds the lock of the directory.
 *
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be used.
 */
export const renewLogId = (directory: string): RenewedLogId => {
  const path = logPath(directory);
  try {
    return renewed(path);
  } catch (error) {
    throw openFault(path, error);
  }
};
