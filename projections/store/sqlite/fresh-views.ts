import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { FreshViews } from '../../runtime/rebuild.js';
import { guarded } from './driver-faults.js';
import { type SqliteReadStore, sqliteReadStore, VIEWS_FILE } from './sqlite-read-store.js';

const GROWING = 'views.growing.db';

/** The file of the views that were in use before the last rebuild. */
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

/** Folds the write-ahead log into the file, so that the file is whole by itself. */
const settle = (path: string): void => {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  sync(path);
};

/** Damaged views are a reason to rebuild, and no reason not to. */
const settleIfSound = (path: string): void => {
  try {
    settle(path);
  } catch {
    // What is damaged is kept as it is.
  }
};

// The old file gets a second name and then loses its first to the new one: at every moment there are whole views.
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
    dropLogs(current);
  }
  renameSync(growing, current);
  sync(directory);
};

/** Opens the views that grow in a data directory; whoever grows a part of them may do so beside others. */
export const growingSqliteViews = ({ directory }: { readonly directory: string }): SqliteReadStore =>
  sqliteReadStore({ directory, mode: 'read-write', file: GROWING, isGrowing: true });

/**
 * Views in a file of their own beside those in use, for a rebuild that no power cut needs to survive until the switch.
 * Nobody may have the views open while they are switched.
 *
 * @throws {StoreUnavailable} when the file cannot be made.
 */
export const freshSqliteViews = ({ directory }: { readonly directory: string }): FreshViews => {
  drop(join(directory, GROWING));
  const store = growingSqliteViews({ directory });
  return {
    store,
    activate: async () => {
      await store.finish();
      await store.close();
      return guarded(() => switchOver(directory));
    },
    discard: async () => {
      await store.close();
      return guarded(() => drop(join(directory, GROWING)));
    },
  };
};
