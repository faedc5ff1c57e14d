import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirectoryUnusable } from '../../kernel/fault.js';
import { logPath } from './schema.js';

/** The folder of a data directory where a restore assembles everything; it is removed when the log is in place. */
export const RESTORING_FOLDER = 'restoring';

const bytesOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size;

const assertNotRestoring = (directory: string): void => {
  if (!existsSync(join(directory, RESTORING_FOLDER))) return;
  throw new DataDirectoryUnusable(
    `${directory} has half of a backup: a restore goes on, or was interrupted; run \`flightlog restore\` again, ` +
      `or choose an empty directory to start afresh`,
  );
};

/**
 * Refuses to start with a new log in a directory that had one before, or that is being restored. Must be called before
 * the log is opened, because opening an empty file deletes the write-ahead log beside it.
 *
 * @param witnesses files of the directory that exist only where there is a log.
 * @throws {DataDirectoryUnusable} when one of them or an unfinished restore exists, and the log is missing or empty;
 * nothing is changed then.
 */
export const assertLogNotLost = (directory: string, witnesses: readonly string[]): void => {
  const path = logPath(directory);
  const bytes = bytesOf(path) ?? 0;
  if (bytes > 0) return;
  assertNotRestoring(directory);
  const witness = ['log.db-wal', ...witnesses].find((file) => (bytesOf(join(directory, file)) ?? 0) > 0);
  if (witness === undefined) return;
  const what = bytesOf(path) === undefined ? 'missing' : 'empty';
  throw new DataDirectoryUnusable(
    `log ${path} is ${what}, and ${witness} shows that there was one: put back a backup of it, ` +
      `or choose an empty directory to start afresh`,
  );
};
