import { resolve } from 'node:path';
import { renewEventstoreId, takeEventstoreOver } from '../../store/eventstore/eventstore-event-store.js';
import { lockDataDirectory } from '../../store/data-directory.js';
import { renewLogId, takeLogOver } from '../../store/log/identity.js';
import { sqliteLogReader } from '../../store/log/sqlite-log-reader.js';
import type { Configuration } from '../../config/configuration.js';
import { logKey, logSource } from '../../main/log/log-source.js';
import { forSetting } from '../../config/operator-errors.js';
import { printSummary } from '../summary.js';

/** The flags of `log renew-id`. */
export type RenewFlags = { readonly asCopy: boolean };

/** The two forms of a change of a log's identity. */
type Change = {
  readonly embedded: (directory: string) => object;
  readonly eventstore: (source: { readonly url: string }) => Promise<object>;
};

const inDirectory = async (directory: string, change: Change['embedded']): Promise<object> => {
  await (await sqliteLogReader({ directory })).close(); // throws when there is no log
  const lock = await lockDataDirectory(directory);
  try {
    return change(lock.directory);
  } finally {
    lock.release();
  }
};

const change = async (configuration: Configuration, { embedded, eventstore }: Change): Promise<void> => {
  const { data, event_store: eventStore } = configuration;
  const source = logSource({ directory: resolve(data), eventStore });
  const changed = await forSetting(logKey(configuration), () =>
    source.kind === 'eventstore' ? eventstore(source) : inDirectory(source.directory, embedded),
  );
  printSummary(changed);
};

/**
 * Gives a copied or restored log a new id, and prints the old and the new one as a JSON object. With `asCopy`, the
 * original stays in use, and the log is a copy of it until it takes over.
 *
 * @throws {OperatorError} when the data directory is in use, or there is no log that can be used, or the event store
 * refuses.
 */
export const renewId = (configuration: Configuration, { asCopy }: RenewFlags): Promise<void> =>
  change(configuration, {
    embedded: (directory) => renewLogId(directory, asCopy),
    eventstore: (source) => renewEventstoreId(source, asCopy),
  });

/**
 * Lets a copied log take over from its original: schedules fire and notifications are sent again. Prints the id of the
 * log, and that of the original if there was one, as a JSON object.
 *
 * @throws {OperatorError} when the data directory is in use, or there is no log that can be used, or the event store
 * refuses.
 */
export const takeOver = (configuration: Configuration): Promise<void> =>
  change(configuration, { embedded: takeLogOver, eventstore: takeEventstoreOver });
