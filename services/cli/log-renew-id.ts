import { resolve } from 'node:path';
import { renewEventstoreId } from '../store/eventstore/eventstore-event-store.js';
import { lockDataDirectory } from '../store/data-directory.js';
import { renewLogId, type RenewedLogId } from '../store/log/identity.js';
import { sqliteLogReader } from '../store/log/sqlite-log-reader.js';
import type { Configuration } from '../config/configuration.js';
import { logKey, logSource } from '../main/log-source.js';
import { forSetting } from '../config/operator-errors.js';

const renewEmbedded = async (directory: string): Promise<RenewedLogId> => {
  await (await sqliteLogReader({ directory })).close(); // throws where there is no log
  const lock = await lockDataDirectory(directory);
  try {
    return renewLogId(lock.directory);
  } finally {
    lock.release();
  }
};

/**
 * Gives a copied or restored log a new id, and prints the old and the new one as a JSON object.
 *
 * @throws {OperatorError} when the data directory is in use, or there is no log that can be used, or the event store refuses.
 */
export const renewId = async (configuration: Configuration): Promise<void> => {
  const { data, event_store: eventStore } = configuration;
  const source = logSource({ directory: resolve(data), eventStore });
  const renewed = await forSetting(logKey(configuration), () =>
    source.kind === 'eventstore' ? renewEventstoreId(source) : renewEmbedded(source.directory),
  );
  process.stdout.write(`${JSON.stringify(renewed)}\n`);
};
