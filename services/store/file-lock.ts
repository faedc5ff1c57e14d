import { DatabaseSync } from '@photostructure/sqlite';
import { isBusy } from './log/sqlite-fault.js';

/** Lock mode: `alone` is exclusive; `together` is shared with other processes that also use `together`. */
export type LockMode = 'alone' | 'together';

/**
 * A lock that is held until `close`, or until the process ends. Keep a reference to it: the garbage collector releases
 * a lock without one.
 */
export interface FileLock {
  close(): void;
}

// A read takes SQLite's shared lock, which keeps out an exclusive one. An attempt at the exclusive lock that fails
// keeps new readers out while it lasts, a moment: no connection waits here.
const BEGIN: Readonly<Record<LockMode, string>> = {
  alone: 'BEGIN EXCLUSIVE',
  together: 'BEGIN; SELECT count(*) FROM sqlite_schema',
};

/**
 * Locks a file by a transaction on an empty database: the operating system releases its file locks when the process
 * ends in any way. The file is created if missing.
 *
 * @returns `undefined` when a lock of this process or another excludes this one.
 * @throws {Error} of SQLite when the file cannot be used.
 */
export const lockFile = (file: string, mode: LockMode): FileLock | undefined => {
  let db: InstanceType<typeof DatabaseSync> | undefined;
  try {
    db = new DatabaseSync(file);
    db.exec(BEGIN[mode]);
    return db;
  } catch (error) {
    db?.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
};
