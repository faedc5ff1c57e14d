import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { VIEWS_FILE } from '../../projections/store/sqlite-read-store.js';
import type { PayloadStore } from '../kernel/payload-store.js';
import { type OpenSessions, openSessions } from '../sessions/sessions.js';
import { lockDataDirectory } from '../store/data-directory.js';
import type { Configuration } from './configuration.js';
import { logSource, openWritableLog, type WritableLog } from './log-source.js';
import { openPayloads } from './payloads.js';
import { isWhole } from './roles.js';
import { isShared } from './shared-log.js';
import type { ViewsThreadData } from './views-thread.js';

/** What a process stands on, whatever it does. */
export type Foundation = {
  /** The data directory, absolute. */
  readonly directory: string;
  readonly log: WritableLog;
  readonly payloads: PayloadStore;
  readonly sessions: OpenSessions;
  /** What its threads are started with. */
  readonly source: ViewsThreadData;
  /** Closes all of it; whatever uses it is closed before. */
  readonly close: () => Promise<void>;
};

const PAYLOADS_HERE =
  'payloads are in the data directory: processes that do not share it on this machine need --payload-store s3://BUCKET/PREFIX, all of them';

const warnOfFiles = (
  { role, payload_store: payloads, event_store: eventStore }: Configuration,
  logger: Logger,
  directory: string,
): void => {
  const mayHaveOthers = !isWhole(role) || logSource({ directory, eventStore }).kind === 'eventstore';
  if (mayHaveOthers && payloads.kind === 'file') logger.warn({ directory }, PAYLOADS_HERE);
};

/**
 * Opens the data directory, alone or together with processes of other roles, the log and the payloads.
 *
 * @throws {Fault} when one of them cannot be used.
 */
export const openFoundation = async (configuration: Configuration, logger: Logger): Promise<Foundation> => {
  const { payload_store: location, read_store: views, max_session_bytes: maxCachedBytes } = configuration;
  const directory = resolve(configuration.data);
  const lock = await lockDataDirectory(directory, isWhole(configuration.role) ? 'alone' : 'together');
  warnOfFiles(configuration, logger, directory);
  const log = await openWritableLog(configuration, { directory, derived: [VIEWS_FILE], logger });
  const source = { directory, location, source: log.source, views };
  const payloads = await openPayloads(source);
  const { store } = log;
  return {
    directory,
    log,
    payloads,
    sessions: openSessions({ store, payloads, now: Date.now, maxCachedBytes, isShared: isShared(log) }),
    source,
    close: async () => {
      await payloads.close();
      await store.close();
      lock.release();
    },
  };
};
