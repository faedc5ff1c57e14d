import { createHash, randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { type MongoLocation, readStoreLocation } from '../../../projections/store/mongo/location.js';

/** The MongoDB, or server of its protocol, that tests may use; without it, the tests that need one are skipped. */
export const mongoUrl = process.env['FLIGHTLOG_TEST_MONGO_URL'];

/**
 * True when the server's `explain` reports the keys and documents that a query examined. The numbers of the stand-in of
 * `test/services` show nothing: it always examines all documents of the scope, such as a project and domain.
 */
export const countsWhatItExamines = process.env['FLIGHTLOG_TEST_MONGO_EXPLAINS'] === '1';

const locationOf = (url: string): MongoLocation => {
  const location = readStoreLocation(url);
  if (typeof location === 'string' || location.kind !== 'mongodb') throw new Error(`FLIGHTLOG_TEST_MONGO_URL: ${url}`);
  return location;
};

const databaseUrl = (name: string): string => {
  const url = new URL(mongoUrl ?? 'mongodb://none');
  url.pathname = `/flightlog-test-${name}`;
  return url.href;
};

/** The location of a new database, which no other test uses. */
export const newMongoLocation = (): MongoLocation => locationOf(databaseUrl(randomUUID().slice(0, 18)));

/** True when the views of servers under test are in a MongoDB, and not in their data directories. */
export const isOnMongodb = process.env['FLIGHTLOG_TEST_READ_STORE'] === 'mongodb';

/** The databases of data directories, by the directory. */
const databases = new Map<string, string>();

const databaseOf = (data: string): string => {
  if (mongoUrl === undefined) throw new Error('FLIGHTLOG_TEST_READ_STORE needs FLIGHTLOG_TEST_MONGO_URL');
  const known = databases.get(data) ?? databaseUrl(createHash('sha256').update(data).digest('hex').slice(0, 18));
  databases.set(data, known);
  return known;
};

/**
 * The flags for the read store that FLIGHTLOG_TEST_READ_STORE names: `mongodb` gives every data directory a database of
 * its own, for as long as its tests run. None without the variable, or when `args` name a read store.
 */
export const readStoreFlags = (data: string, args: readonly string[]): readonly string[] =>
  isOnMongodb && !args.includes('--read-store') ? ['--read-store', databaseOf(data)] : [];

/** The read store of a data directory that a server has served, as a variable for a command on that directory. */
export const readStoreEnvironment = (data: string): Readonly<Record<string, string>> => {
  const url = databases.get(data);
  return url === undefined ? {} : { FLIGHTLOG_READ_STORE: url };
};

/** Removes the databases of the data directories of a test file. */
export const dropTestDatabases = async (): Promise<void> => {
  for (const url of databases.values()) await dropDatabase(locationOf(url));
  databases.clear();
};

/** Removes the database of a test. */
export const dropDatabase = async ({ url, database }: MongoLocation): Promise<void> => {
  const client = new MongoClient(url);
  const db = client.db(database);
  // A process that a test has killed may have left a transaction open, and dropping the database would wait for it.
  const writers = await db.collection('writers').find().toArray();
  if (writers.length > 0) await db.admin().command({ killSessions: writers.map(({ _id: id }) => ({ id })) });
  await db.dropDatabase();
  await client.close();
};
