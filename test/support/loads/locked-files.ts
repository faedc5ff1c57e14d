import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

/** The error code SQLITE_BUSY. */
const BUSY = 5;
/** Much longer than any write of a running process takes. */
const BUSY_TIMEOUT_MS = 1_000;

/** True when another process holds the write lock on a SQLite file. */
const isHeld = (file: string): boolean => {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch (error) {
    if ((error as { readonly errcode?: number }).errcode === BUSY) return true;
    throw error;
  } finally {
    db.close();
  }
};

/**
 * True when a process, such as a suspended one, holds the write lock on a SQLite file that processes share in a data
 * directory for longer than a second. Blocks the thread for up to a second for each file.
 */
export const isSharedFileLocked = (directory: string): boolean =>
  ['views.db', 'claims.db'].some((name) => isHeld(join(directory, name)));
