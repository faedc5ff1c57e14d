import { type Collection as MongoCollection, type Db, MongoServerError } from 'mongodb';
import { ReadStoreUnusable } from '../../../services/kernel/fault.js';
import type { Collection } from '../../runtime/read-store.js';
import {
  type Build,
  CHUNKS,
  collectionName,
  indexName,
  ofBuild,
  storedPath,
  searchIndexName,
  searchPath,
} from './names.js';

/** The description of the views that a database holds. */
export type DatabaseLabel = {
  readonly _id: 'views';
  /** Format of the stored data. */
  readonly format: number;
  /** The log that the views are of. */
  readonly logId: string;
  /** The build that is in use. */
  readonly build: Build;
};

/** A database, and its name in messages. */
export type ShownDatabase = { readonly db: Db; readonly shown: string };

type Shape = { readonly _id: string; readonly fields: Collection['fields'] };

/** Name of the collection with the description, and with the fields of each collection. */
const ABOUT = 'flightlog';
const FORMAT = 1;
const NAMESPACE_EXISTS = 48;
const INDEX_OPTIONS_CONFLICT = 85;
const INDEX_KEYS_CONFLICT = 86;

/** The collection that holds the description. */
export const labelIn = (db: Db): MongoCollection<DatabaseLabel> => db.collection<DatabaseLabel>(ABOUT);

const readable = (stored: DatabaseLabel, shown: string): DatabaseLabel => {
  if (stored.format > FORMAT)
    throw new ReadStoreUnusable(
      `a newer release has written the views in ${shown} (format ${stored.format}, this one knows ${FORMAT}): start that one`,
    );
  return stored;
};

/**
 * Reads the description of a database's views; `undefined` when it has none.
 *
 * @throws {ReadStoreUnusable} when a newer release has written them.
 */
export const readLabel = async (db: Db, shown: string): Promise<DatabaseLabel | undefined> => {
  const stored = await labelIn(db).findOne({ _id: 'views' });
  return stored ? readable(stored, shown) : undefined;
};

/**
 * Checks that views are of a log.
 *
 * @throws {ReadStoreUnusable} when they are of another log.
 */
export const assertOf = ({ logId: found }: DatabaseLabel, logId: string, shown: string): void => {
  if (found === logId) return;
  throw new ReadStoreUnusable(
    `the read store ${shown} has the views of another log (${found}; this one is ${logId}): name another database, or put this log's views in their place with flightlog views rebuild`,
  );
};

/**
 * Assigns a database without views to a log, with this build number; otherwise checks that its views are of this log.
 *
 * @throws {ReadStoreUnusable} when it has the views of another log, or a newer release has written it.
 */
export const labelDatabase = async (
  { db, shown }: ShownDatabase,
  logId: string,
  build: Build = 0,
): Promise<DatabaseLabel> => {
  await labelIn(db).updateOne({ _id: 'views' }, { $setOnInsert: { format: FORMAT, logId, build } }, { upsert: true });
  const stored = (await readLabel(db, shown)) ?? { _id: 'views', format: FORMAT, logId, build };
  assertOf(stored, logId, shown);
  return stored;
};

const isCode = (error: unknown, ...codes: readonly number[]): boolean =>
  error instanceof MongoServerError && codes.includes(Number(error.code));

const makeCollection = async (db: Db, name: string): Promise<void> => {
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!isCode(error, NAMESPACE_EXISTS)) throw error;
  }
};

const notAsDeclared = ({ name, version }: Collection, shown: string, cause?: unknown): ReadStoreUnusable =>
  new ReadStoreUnusable(
    `the view ${name}, version ${version}, is not stored in ${shown} as this release has it: rebuild the views`,
    cause,
  );

const textOf = (fields: Collection['fields']): string => JSON.stringify(Object.entries(fields).sort());

/**
 * Creates the missing collections of a build, without indexes.
 *
 * @throws {ReadStoreUnusable} when one exists with other fields than declared.
 */
export const makeCollections = async (
  { db, shown }: ShownDatabase,
  collections: readonly Collection[],
  build: Build,
): Promise<void> => {
  for (const name of ['checkpoints', 'parked', CHUNKS]) await makeCollection(db, ofBuild(name, build));
  const shapes = db.collection<Shape>(ABOUT);
  for (const collection of collections) {
    const name = collectionName(collection, build);
    const { fields } = collection;
    await makeCollection(db, name);
    await shapes.updateOne({ _id: name }, { $setOnInsert: { fields } }, { upsert: true });
    const stored = await shapes.findOne({ _id: name });
    if (textOf(stored?.fields ?? {}) !== textOf(fields)) throw notAsDeclared(collection, shown);
  }
};

/**
 * Creates the missing indexes of collections: the fields in order, then the key, then the carried fields; and for each
 * searched text its trigrams, the sort field and the key.
 *
 * @throws {ReadStoreUnusable} when one exists with other fields.
 */
export const makeIndexes = async (
  { db, shown }: ShownDatabase,
  collections: readonly Collection[],
  build: Build,
): Promise<void> => {
  for (const collection of collections) {
    const specifications = collection.indexes.map((fields) => {
      const carried = collection.carried?.[indexName(fields)] ?? [];
      const paths = [...fields.map(storedPath), '_id', ...carried.map(storedPath)];
      return { name: indexName(fields), key: Object.fromEntries(paths.map((path) => [path, 1])) };
    });
    const searches = (collection.searched ?? []).map(({ sort }, at) => ({
      name: searchIndexName(at),
      key: { [searchPath(at)]: 1, [storedPath(sort)]: 1, _id: 1 } as const,
    }));
    if (specifications.length + searches.length === 0) continue;
    try {
      await db.collection(collectionName(collection, build)).createIndexes([...specifications, ...searches]);
    } catch (error) {
      if (isCode(error, INDEX_OPTIONS_CONFLICT, INDEX_KEYS_CONFLICT)) throw notAsDeclared(collection, shown, error);
      throw error;
    }
  }
};

/** Drops collections of views, with the record of their fields. */
export const dropCollections = async (db: Db, isDropped: (name: string) => boolean): Promise<void> => {
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    if (!isDropped(name)) continue;
    await db.collection(name).drop();
    await db.collection<Shape>(ABOUT).deleteOne({ _id: name });
  }
};
