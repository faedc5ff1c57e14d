import { createHash, randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { type MongoLocation, readStoreLocation } from '../../projections/store/mongo/location.js';

/** The MongoDB that tests may use, or a server of its protocol; where none is named, they are skipped by name. */
export const mongoUrl = process.env['FLIGHTLOG_TEST_MONGO_URL'];

/** Whether that server's explanations say what a query has looked at; a stand-in walks all that is in the scope. */
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

/** A database that nobody else uses. */
export const newMongoLocation = (): MongoLocation => locationOf(databaseUrl(randomUUID().slice(0, 18)));

/** Whether the views of servers under test are in a MongoDB, and not in their data directories. */
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
 * its own, for as long as its tests run; without, views are where they are by default.
 */
export const readStoreFlags = (data: string, args: readonly string[]): readonly string[] =>
  isOnMongodb && !args.includes('--read-store') ? ['--read-store', databaseOf(data)] : [];

/** The same as a variable, for a command on a data directory that a server has served. */
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
  // A process that a test has killed may have left a transaction open, which a removal would wait for.
  const writers = await db.collection('writers').find().toArray();
  if (writers.length > 0) await db.admin().command({ killSessions: writers.map(({ _id: id }) => ({ id })) });
  await db.dropDatabase();
  await client.close();
};
