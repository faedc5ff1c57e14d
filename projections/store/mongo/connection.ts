import { type Db, MongoClient } from 'mongodb';
import { ReadStoreUnusable } from '../../../services/kernel/fault.js';
import { faultOf } from './driver-faults.js';
import type { MongoLocation } from './location.js';

/** A database, and what is said of it. */
export type Connection = {
  readonly client: MongoClient;
  readonly db: Db;
  /** Runs what uses the driver, under the promises of the port. */
  readonly guarded: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
};

/** What a server says of itself. */
export type Hello = { readonly setName?: string; readonly msg?: string; readonly maxWireVersion?: number };

/** MongoDB 6.0. */
const OLDEST_WIRE_VERSION = 17;

const HOW_TO_REPLICATE =
  "run it as a replica set of one: mongod --replSet rs0 --bind_ip 127.0.0.1, and then once: mongosh --eval 'rs.initiate()'";

/**
 * Holds what a server says of itself against what the views need: transactions, which one without a replica set lacks.
 *
 * @throws {ReadStoreUnusable} with what to do.
 */
export const assertUsable = ({ setName, msg, maxWireVersion = 0 }: Hello, shown: string): void => {
  if (maxWireVersion < OLDEST_WIRE_VERSION)
    throw new ReadStoreUnusable(`the read store ${shown} is older than MongoDB 6.0, which the views need`);
  if (setName === undefined && msg !== 'isdbgrid')
    throw new ReadStoreUnusable(
      `the read store ${shown} is no replica set and has no transactions: ${HOW_TO_REPLICATE}`,
    );
};

/** What the connection string may say otherwise. */
const PATIENCE = { waitQueueTimeoutMS: 5_000, serverSelectionTimeoutMS: 5_000, connectTimeoutMS: 5_000 } as const;

const patience = (url: string): Partial<typeof PATIENCE> =>
  Object.fromEntries(Object.entries(PATIENCE).filter(([name]) => !url.includes(`${name}=`)));

const clientOf = ({ url }: MongoLocation, maxPoolSize: number): MongoClient =>
  new MongoClient(url, {
    ...patience(url),
    appName: 'flightlog',
    useBigInt64: true,
    readPreference: 'primary',
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority', wtimeoutMS: 10_000 },
    maxPoolSize,
  });

/**
 * Connects to a database of views, and makes sure that its server has what they need.
 *
 * @throws {StoreUnavailable} when it cannot be reached.
 * @throws {ReadStoreUnusable} when waiting for it does not help.
 */
export const connect = async (location: MongoLocation, maxPoolSize = 8): Promise<Connection> => {
  const { database, shown } = location;
  const guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw faultOf(error, shown);
    }
  };
  return guarded(async () => {
    const client = clientOf(location, maxPoolSize);
    try {
      assertUsable(await client.db('admin').command({ hello: 1 }), shown);
      // What credentials do not allow shows here, before anything waits for it.
      await client.db(database).listCollections({}, { nameOnly: true }).toArray();
    } catch (error) {
      await client.close();
      throw error;
    }
    return { client, db: client.db(database), guarded, close: () => client.close() };
  });
};
