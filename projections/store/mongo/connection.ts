import { type Db, MongoClient } from 'mongodb';
import { ReadStoreUnusable } from '../../../services/kernel/fault.js';
import { mongoFault } from './driver-faults.js';
import type { MongoLocation } from './location.js';

/** A connection to a database of views. */
export type MongoConnection = {
  readonly client: MongoClient;
  readonly db: Db;
  /** Runs driver calls, with driver errors converted to faults. */
  readonly guarded: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
};

/** The fields used of a server's response to `hello`. */
export type Hello = { readonly setName?: string; readonly msg?: string; readonly maxWireVersion?: number };

/** MongoDB 6.0. */
const OLDEST_WIRE_VERSION = 17;

const HOW_TO_REPLICATE =
  "run it as a replica set of one: mongod --replSet rs0 --bind_ip 127.0.0.1, and then once: mongosh --eval 'rs.initiate()'";

/**
 * Checks that a server supports what the views need: MongoDB 6.0 or later, with transactions, which need a replica set.
 *
 * @throws {ReadStoreUnusable} when it does not.
 */
export const assertUsable = ({ setName, msg, maxWireVersion = 0 }: Hello, shown: string): void => {
  if (maxWireVersion < OLDEST_WIRE_VERSION)
    throw new ReadStoreUnusable(`the read store ${shown} is older than MongoDB 6.0, which the views need`);
  if (setName === undefined && msg !== 'isdbgrid')
    throw new ReadStoreUnusable(
      `the read store ${shown} is no replica set and has no transactions: ${HOW_TO_REPLICATE}`,
    );
};

/** Default time limits; the connection string can override each. */
const TIMEOUTS = { waitQueueTimeoutMS: 5_000, serverSelectionTimeoutMS: 5_000, connectTimeoutMS: 5_000 } as const;

/**
 * The default time limits that a connection string leaves as they are. The case of its option names does not matter.
 */
export const timeoutsFor = (url: string): Partial<typeof TIMEOUTS> => {
  const given = url.toLowerCase();
  return Object.fromEntries(Object.entries(TIMEOUTS).filter(([name]) => !given.includes(`${name.toLowerCase()}=`)));
};

const clientOf = ({ url }: MongoLocation, maxPoolSize: number): MongoClient =>
  new MongoClient(url, {
    ...timeoutsFor(url),
    appName: 'flightlog',
    useBigInt64: true,
    readPreference: 'primary',
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority', wtimeoutMS: 10_000 },
    maxPoolSize,
  });

/**
 * Connects to a database of views and checks that its server is usable.
 *
 * @throws {StoreUnavailable} when the server cannot be reached.
 * @throws {ReadStoreUnusable} when retrying does not help.
 */
export const connect = async (location: MongoLocation, maxPoolSize = 8): Promise<MongoConnection> => {
  const { database, shown } = location;
  const guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw mongoFault(error, shown);
    }
  };
  return guarded(async () => {
    const client = clientOf(location, maxPoolSize);
    try {
      assertUsable(await client.db('admin').command({ hello: 1 }), shown);
      // A user without any right on the database fails here, at the start, and not at the first use.
      await client.db(database).listCollections({}, { nameOnly: true }).toArray();
    } catch (error) {
      await client.close();
      throw error;
    }
    return { client, db: client.db(database), guarded, close: () => client.close() };
  });
};
