import { randomUUID } from 'node:crypto';
import { logPath, openForReading, openForWriting } from './schema.js';
import { openFault } from './sqlite-fault.js';

/** The identities of a log before and after its renewal. */
export type RenewedLogId = { readonly before: string; readonly after: string };

const renewed = (path: string): RenewedLogId => {
  openForReading(path).db.close(); // opening for writing would create a missing log
  const { db, logId: before } = openForWriting(path, 'FULL');
  const after = randomUUID();
  db.prepare(`UPDATE meta SET value = ? WHERE key = 'log-id'`).run(after);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return { before, after };
};

/**
 * Gives the log of a data directory a new identity, for a copy or a restored backup: positions of the original log are
 * then refused instead of being mixed with its own. The caller must hold the lock of the directory.
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
