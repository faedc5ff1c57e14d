import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ReadStore } from '../../projections/kernel/read-store.js';
import type { FreshViews } from '../../projections/kernel/rebuild.js';
import { freshSqliteViews } from '../../projections/store/fresh-views.js';
import type { ReadStoreLocation } from '../../projections/store/mongo/location.js';
import type { MongoReadStoreOptions } from '../../projections/store/mongo/mongo-read-store.js';
import { servingReadStore } from '../../projections/store/serving-read-store.js';
import { sqliteReadStore } from '../../projections/store/sqlite-read-store.js';
import { StoreUnavailable } from '../kernel/fault.js';
import { failPoint } from '../store/fail-point.js';

/** Which views a process, or a thread of it, works with. */
export type ReadStoreSource = { readonly directory: string; readonly views: ReadStoreLocation };

/** Connections of a thread that serves requests. */
const SERVING_CONNECTIONS = 32;

const MAX_PAUSE_MS = 10_000;

/** The driver is loaded only where it is used. */
const openMongo = async (options: MongoReadStoreOptions): Promise<ReadStore> => {
  const { mongoReadStore } = await import('../../projections/store/mongo/mongo-read-store.js');
  return mongoReadStore(options);
};

/**
 * Opens the views of a configuration to be read: on the thread that serves requests, or on one of its own.
 *
 * @throws {Fault} when they cannot be used.
 */
export const openReadStore = async (
  { directory, views }: ReadStoreSource,
  use: 'serve' | 'alone',
): Promise<ReadStore> => {
  if (views.kind === 'mongodb')
    return openMongo({ location: views, ...(use === 'serve' && { connections: SERVING_CONNECTIONS }) });
  return use === 'serve' ? servingReadStore({ directory }) : sqliteReadStore({ directory, mode: 'read-only' });
};

/** How the views of a log are kept. */
type Keeping = {
  readonly logId: string;
  /** Called while a store does not say whether it has written something, the how manieth time in a row. */
  readonly onUnknown: (error: Error, times: number) => void;
};

/**
 * Opens the views of a configuration to be written, on a thread of its own.
 *
 * @throws {Fault} when they cannot be used.
 */
export const openViews = async ({ directory, views }: ReadStoreSource, keeping: Keeping): Promise<ReadStore> => {
  const beforeCommit = (): void => failPoint('inside-checkpoint');
  if (views.kind === 'mongodb') return openMongo({ location: views, beforeCommit, ...keeping });
  return sqliteReadStore({ directory, mode: 'read-write', beforeCommit });
};

/**
 * Makes the views of a log that a rebuild grows beside those in use.
 *
 * @throws {Fault} when they cannot be made.
 */
export const openFreshViews = async ({ directory, views }: ReadStoreSource, logId: string): Promise<FreshViews> => {
  if (views.kind === 'sqlite') return freshSqliteViews({ directory });
  const { freshMongoViews } = await import('../../projections/store/mongo/fresh-mongo-views.js');
  return freshMongoViews(views, logId);
};

const isReachable = async (source: ReadStoreSource, logger: Logger): Promise<boolean> => {
  try {
    const store = await openReadStore(source, 'alone');
    await store.close();
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    logger.warn({ why: error.message }, 'the read store cannot be reached; it is tried again');
    return false;
  }
};

/**
 * Waits until the server that has the views can be reached.
 *
 * @throws {ReadStoreUnusable} when waiting does not help.
 */
export const untilReachable = async (source: ReadStoreSource, logger: Logger): Promise<void> => {
  if (source.views.kind === 'sqlite') return;
  for (let times = 0; !(await isReachable(source, logger)); times += 1)
    await setTimeout(Math.min(250 * 2 ** times, MAX_PAUSE_MS));
};
