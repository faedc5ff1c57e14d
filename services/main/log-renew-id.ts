import { resolve } from 'node:path';
import { lockDataDirectory } from '../store/data-directory.js';
import { renewLogId } from '../store/log-identity.js';
import { sqliteLogReader } from '../store/sqlite-log-reader.js';
import type { Configuration } from './configuration.js';

/**
 * Gives a copied or restored log its own identity, and prints the old and the new one as a JSON object.
 *
 * @throws {Fault} when the data directory is in use, or there is no log that can be used.
 */
export const renewId = async ({ data }: Configuration): Promise<void> => {
  const directory = resolve(data);
  await (await sqliteLogReader({ directory })).close(); // first: where there is no log, nothing is written
  const lock = await lockDataDirectory(directory);
  try {
    process.stdout.write(`${JSON.stringify(renewLogId(lock.directory))}\n`);
  } finally {
    lock.release();
  }
};
