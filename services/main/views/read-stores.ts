import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ReadStore } from '../../../projections/runtime/read-store.js';
import type { FreshViews } from '../../../projections/runtime/runs/rebuild.js';
import { freshSqliteViews } from '../../../projections/store/sqlite/fresh-views.js';
import type { ReadStoreLocation } from '../../../projections/store/mongo/location.js';
import type { MongoReadStoreOptions } from '../../../projections/store/mongo/mongo-read-store.js';
import { servingReadStore } from '../../../projections/store/sqlite/serving-read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { DataDirectoryUnusable, ReadStoreUnusable, StoreUnavailable } from '../../kernel/fault.js';
import { tlsProblem } from '../../kernel/tls-problem.js';
import { failPoint } from '../../store/fail-point.js';
import { models } from '../models.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';

/** The location of the views; it can be sent to any thread. */
export type ReadStoreSource = { readonly directory: string; readonly views: ReadStoreLocation };

/** The connections to MongoDB of a thread that serves requests. */
const SERVING_CONNECTIONS = 32;

const MAX_PAUSE_MS = 10_000;

/** Loads the driver of MongoDB, and opens views there. */
const openMongo = async (options: MongoReadStoreOptions): Promise<ReadStore> => {
  const { mongoReadStore } = await import('../../../projections/store/mongo/mongo-read-store.js');
  return mongoReadStore(options);
};

/**
 * Opens the configured views for reading.
 *
 * @param use `serve` for the thread that serves requests; `alone` where reads may block the thread.
 * @param logId the id of the log that views in MongoDB must be projected from; views in a data directory ignore it.
 * @throws {Fault} when they cannot be used.
 */
export const openReadStore = async (
  { directory, views }: ReadStoreSource,
  use: 'serve' | 'alone',
  logId?: string,
): Promise<ReadStore> => {
  const ofLog = logId === undefined ? {} : { readOf: logId };
  if (views.kind === 'mongodb')
    return openMongo({ location: views, ...ofLog, ...(use === 'serve' && { connections: SERVING_CONNECTIONS }) });
  return use === 'serve' ? servingReadStore({ directory }) : sqliteReadStore({ directory, mode: 'read-only' });
};

/** Options for writing the views of a log. */
type WritingOptions = {
  readonly logId: string;
  /** Called when the outcome of an attempt to write is unknown; `times` is the number of the attempt, from 1. */
  readonly onUnknown: (error: Error, times: number) => void;
};

/**
 * Opens the configured views for writing. In a data directory, writes block the thread.
 *
 * @throws {Fault} when they cannot be used.
 */
export const openViews = async ({ directory, views }: ReadStoreSource, writing: WritingOptions): Promise<ReadStore> => {
  const beforeCommit = (): void => failPoint('inside-checkpoint');
  const store =
    views.kind === 'mongodb'
      ? await openMongo({ location: views, beforeCommit, ...writing })
      : sqliteReadStore({ directory, mode: 'read-write', beforeCommit });
  const write: ReadStore['write'] = (batch) => {
    failPoint('before-views-write');
    return store.write(batch);
  };
  return { ...store, write };
};

/**
 * Creates the views that a rebuild fills beside those in use.
 *
 * @throws {Fault} when they cannot be created.
 */
export const openFreshViews = async ({ directory, views }: ReadStoreSource, logId: string): Promise<FreshViews> => {
  if (views.kind === 'sqlite') return freshSqliteViews({ directory });
  const { freshMongoViews } = await import('../../../projections/store/mongo/fresh-mongo-views.js');
  return freshMongoViews(views, logId);
};

/** The setting that gives the location of the views. */
export const viewsKey = ({ kind }: ReadStoreLocation): string => (kind === 'sqlite' ? 'data' : 'read_store');

const HINT = 'a MongoDB must listen at the address, with TLS only if the address has tls=true';
const TLS_ADVICE = { plain: 'take tls=true out of the address', untrusted: 'name its authority with tlsCAFile=FILE' };

/**
 * Opens the views once, to find why they cannot be read at present; `undefined` when they can.
 *
 * @throws {Fault} for a problem that waiting cannot solve.
 */
const obstacle = async (source: ReadStoreSource, logId: string): Promise<Error | undefined> => {
  try {
    const store = await openReadStore(source, 'alone', logId);
    try {
      await store.prepare(models.map(({ collection }) => collection)); // SQLite throws where one is missing or differs
    } finally {
      await store.close();
    }
    return undefined;
  } catch (error) {
    if (error instanceof DataDirectoryUnusable) return error;
    if (!(error instanceof StoreUnavailable)) throw error;
    const problem = tlsProblem(error.message, TLS_ADVICE);
    if (problem !== undefined) throw new ReadStoreUnusable(problem, error);
    return error;
  }
};

/**
 * The writer creates the file and then its tables one after another: for this many attempts in a row, a missing table
 * counts as not created yet.
 */
const MISSING_TABLE_ATTEMPTS = 40;

/**
 * Makes a function that is called with the obstacle of each attempt, and says whether to give up. Attempts before the
 * file was there do not count.
 */
export const giveUpPolicy = (): ((fault: Error) => boolean) => {
  let unusableReads = 0;
  return (fault) => {
    unusableReads = fault instanceof DataDirectoryUnusable ? unusableReads + 1 : 0;
    return unusableReads > MISSING_TABLE_ATTEMPTS;
  };
};

const WHERE_FROM =
  'there are no views yet; retrying. Start a projector on this data directory, or give all processes the same --read-store mongodb://…';

/**
 * Waits until the views can be read: until their server can be reached or, in a data directory, until they have been
 * created.
 *
 * @throws {OperatorError} when waiting does not help, naming the setting.
 */
export const untilReachable = async (source: ReadStoreSource, logId: string, logger: Logger): Promise<void> => {
  const isHere = source.views.kind === 'sqlite';
  const text = isHere ? WHERE_FROM : 'the read store (read_store) cannot be reached; retrying';
  const isGivenUp = giveUpPolicy();
  for (let times = 0; ; times += 1) {
    const fault = await forSetting(viewsKey(source.views), () => obstacle(source, logId));
    if (!fault) return;
    if (isGivenUp(fault)) throw new OperatorError(`data: ${fault.message}`, { cause: fault });
    if (!isHere || times % 40 === 1) logger.warn({ why: fault.message, ...(!isHere && { hint: HINT }) }, text);
    await setTimeout(isHere ? 250 : Math.min(250 * 2 ** times, MAX_PAUSE_MS));
  }
};
