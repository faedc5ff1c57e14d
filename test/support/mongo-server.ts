import { randomUUID } from 'node:crypto';
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

/** A database that nobody else uses. */
export const newMongoLocation = (): MongoLocation => {
  const url = new URL(mongoUrl ?? 'mongodb://none');
  url.pathname = `/flightlog-test-${randomUUID().slice(0, 18)}`;
  return locationOf(url.href);
};

/** Removes the database of a test. */
export const dropDatabase = async ({ url, database }: MongoLocation): Promise<void> => {
  const client = new MongoClient(url);
  await client.db(database).dropDatabase();
  await client.close();
};
