import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { FreshViews } from '../../runtime/runs/rebuild.js';
import { driverCall, sqliteFault } from './driver-faults.js';
import { type SqliteReadStore, sqliteReadStore, VIEWS_FILE } from './sqlite-read-store.js';

const GROWING = 'views.growing.db';

/** File name of the views that were in use before the last rebuild. */
export const PREVIOUS_FILE = 'views.previous.db';

const dropLogs = (path: string): void => {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
};

const drop = (path: string): void => {
  rmSync(path, { force: true });
  dropLogs(path);
};

const sync = (path: string): void => {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
};

/** Checkpoints the write-ahead log into the file, so that the file is complete by itself. */
const settle = (path: string): void => {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  sync(path);
};

/** Checkpoints the views in use, unless they are damaged: damage is a reason to rebuild and must not prevent it. */
const settleIfSound = (path: string): void => {
  try {
    settle(path);
  } catch {
    // A damaged file is kept as it is.
  }
};

// The old file gets a second name, then the new file takes over the first: complete views exist at every moment.
const switchOver = (directory: string): void => {
  const [current, growing, previous] = [VIEWS_FILE, GROWING, PREVIOUS_FILE].map((file) => join(directory, file)) as [
    string,
    string,
    string,
  ];
  settle(growing);
  dropLogs(growing);
  if (existsSync(current)) {
    settleIfSound(current);
    drop(previous);
    linkSync(current, previous);
  }
  // Also where the file itself was removed: SQLite would apply a log that is left to the new file.
  dropLogs(current);
  renameSync(growing, current);
  sync(directory);
};

/**
 * Opens the views that a rebuild is building in a data directory. Several connections may build different parts of
 * them.
 */
export const sqliteViewsInRebuild = ({ directory }: { readonly directory: string }): SqliteReadStore =>
  sqliteReadStore({ directory, mode: 'read-write', file: GROWING, isGrowing: true });

/** Deletes what an interrupted rebuild has left. */
const dropEarlier = (directory: string): void => {
  try {
    drop(join(directory, GROWING));
  } catch (error) {
    throw sqliteFault(error);
  }
};

/**
 * Creates views in a file beside the one in use, for a rebuild; the file need not survive a power cut before the
 * switch. No process may have the views open during the switch.
 *
 * @throws {StoreUnavailable} when the file cannot be created.
 */
export const freshSqliteViews = ({ directory }: { readonly directory: string }): FreshViews => {
  dropEarlier(directory);
  const store = sqliteViewsInRebuild({ directory });
  return {
    store,
    activate: async () => {
      await store.finish();
      await store.close();
      return driverCall(() => switchOver(directory));
    },
    discard: async () => {
      await store.close();
      return driverCall(() => drop(join(directory, GROWING)));
    },
  };
};
