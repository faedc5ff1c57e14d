import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DataDirectoryUnusable } from '../../kernel/fault.js';
import { durableFiles } from '../durable-files.js';
import { logPath } from './schema.js';

/** The folder of a data directory where a restore assembles everything; it is removed when the log is in place. */
export const RESTORING_FOLDER = 'restoring';

/** The file that a data directory has while `log copy` fills its log; it is removed when the copy has been verified. */
const COPYING_FILE = 'copying';

/** Marks the log of a data directory as incomplete; resolves when the mark is durable. */
export const markIncomplete = async (directory: string): Promise<void> => {
  await durableFiles(directory).write(join(directory, COPYING_FILE), new Uint8Array());
};

/** Removes the mark of {@link markIncomplete}. */
export const markComplete = (directory: string): Promise<void> => rm(join(directory, COPYING_FILE), { force: true });

/** @throws {DataDirectoryUnusable} when the log of the directory is marked as incomplete. */
export const assertLogComplete = (directory: string): void => {
  const mark = join(directory, COPYING_FILE);
  if (!existsSync(mark)) return;
  throw new DataDirectoryUnusable(
    `${directory} has part of a log: \`flightlog log copy\` was interrupted or has failed; run it again, ` +
      `or remove ${mark} to keep only the events that were copied`,
  );
};

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
 * @throws {DataDirectoryUnusable} when the log is missing or empty, and there is an unfinished restore, or a witness or
 * write-ahead log that is not empty; nothing is changed then.
 */
export const assertLogNotLost = (directory: string, witnesses: readonly string[]): void => {
  const path = logPath(directory);
  const bytes = bytesOf(path) ?? 0;
  if (bytes > 0) return;
  assertNotRestoring(directory);
  const witness = ['log.db-wal', ...witnesses].find((file) => (bytesOf(join(directory, file)) ?? 0) > 0);
  if (witness === undefined) return;
  const condition = bytesOf(path) === undefined ? 'missing' : 'empty';
  throw new DataDirectoryUnusable(
    `log ${path} is ${condition}, and ${witness} shows that there was one: put back a backup of it, ` +
      `or choose an empty directory to start afresh`,
  );
};
