import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirectoryUnusable } from '../../kernel/fault.js';
import { logPath } from './schema.js';

const bytesOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size;

/**
 * Refuses to start with a new log in a directory that had one before. Must be called before the log is opened, because
 * opening an empty file deletes the write-ahead log beside it.
 *
 * @param witnesses files of the directory that exist only where there is a log.
 * @throws {DataDirectoryUnusable} when one of them exists and the log is missing or empty; nothing is changed then.
 */
export const assertLogIsThere = (directory: string, witnesses: readonly string[]): void => {
  const path = logPath(directory);
  const bytes = bytesOf(path) ?? 0;
  if (bytes > 0) return;
  const witness = ['log.db-wal', ...witnesses].find((file) => (bytesOf(join(directory, file)) ?? 0) > 0);
  if (witness === undefined) return;
  const what = bytesOf(path) === undefined ? 'missing' : 'empty';
  throw new DataDirectoryUnusable(
    `log ${path} is ${what}, and ${witness} shows that there was one: put back a backup of it, ` +
      `or choose an empty directory to start afresh`,
  );
};
