import { type Collection as MongoCollection, type Db, MongoServerError } from 'mongodb';
import { ReadStoreUnusable } from '../../../services/kernel/fault.js';
import type { Collection } from '../../runtime/read-store.js';
import { type Build, collectionName, indexName, ofBuild, pathOf, searchIndexName, searchPath } from './names.js';

/** What a database of views says of itself. */
export type About = {
  readonly _id: 'views';
  /** How what is in the database is to be read. */
  readonly format: number;
  /** The log that the views are of. */
  readonly logId: string;
  /** The build that is in use. */
  readonly build: Build;
};

/** A database, and what is said of it. */
export type Place = { readonly db: Db; readonly shown: string };

type Shape = { readonly _id: string; readonly fields: Collection['fields'] };

/** The collection of what a database says of itself. */
const ABOUT = 'flightlog';
const FORMAT = 1;
const NAMESPACE_EXISTS = 48;
const INDEX_OPTIONS_CONFLICT = 85;
const INDEX_KEYS_CONFLICT = 86;

/** Where the database says what it is. */
export const aboutIn = (db: Db): MongoCollection<About> => db.collection<About>(ABOUT);

const readable = (about: About, shown: string): About => {
  if (about.format > FORMAT)
    throw new ReadStoreUnusable(
      `a newer release has written the views in ${shown} (format ${about.format}, this one knows ${FORMAT}): start that one`,
    );
  return about;
};

/**
 * What a database says of itself, if it has views.
 *
 * @throws {ReadStoreUnusable} when a newer release has written them.
 */
export const readAbout = async (db: Db, shown: string): Promise<About | undefined> => {
  const about = await aboutIn(db).findOne({ _id: 'views' });
  return about ? readable(about, shown) : undefined;
};

/**
 * Makes sure that views are of a log.
 *
 * @throws {ReadStoreUnusable} when they are of another.
 */
export const assertOf = ({ logId: found }: About, logId: string, shown: string): void => {
  if (found === logId) return;
  throw new ReadStoreUnusable(
    `the read store ${shown} has the views of another log (${found}; this one is ${logId}): name another database, or put this log's views in their place with flightlog views rebuild`,
  );
};

/**
 * Takes a database for the views of a log, in this build where it says of none, or makes sure that it is the one of
 * this log.
 *
 * @throws {ReadStoreUnusable} when it has the views of another log, or a newer release has written it.
 */
export const claim = async ({ db, shown }: Place, logId: string, build: Build = 0): Promise<About> => {
  await aboutIn(db).updateOne({ _id: 'views' }, { $setOnInsert: { format: FORMAT, logId, build } }, { upsert: true });
  const about = (await readAbout(db, shown)) ?? { _id: 'views', format: FORMAT, logId, build };
  assertOf(about, logId, shown);
  return about;
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
 * Makes the collections of a build where they are missing; their indexes are made apart.
 *
 * @throws {ReadStoreUnusable} when one is there in another shape than it is declared.
 */
export const makeCollections = async (
  { db, shown }: Place,
  collections: readonly Collection[],
  build: Build,
): Promise<void> => {
  for (const name of ['checkpoints', 'parked', 'parts']) await makeCollection(db, ofBuild(name, build));
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
 * Makes the indexes of collections where they are missing: the fields in order, then the key, then what they carry.
 *
 * @throws {ReadStoreUnusable} when one is there with other fields.
 */
export const makeIndexes = async (
  { db, shown }: Place,
  collections: readonly Collection[],
  build: Build,
): Promise<void> => {
  for (const collection of collections) {
    const specifications = collection.indexes.map((fields) => {
      const carried = collection.carried?.[indexName(fields)] ?? [];
      const paths = [...fields.map(pathOf), '_id', ...carried.map(pathOf)];
      return { name: indexName(fields), key: Object.fromEntries(paths.map((path) => [path, 1])) };
    });
    const searches = (collection.searched ?? []).map(({ sort }, at) => ({
      name: searchIndexName(at),
      key: { [searchPath(at)]: 1, [pathOf(sort)]: 1, _id: 1 } as const,
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

/** Removes collections of views, and what is said of their shapes. */
export const dropCollections = async (db: Db, isDropped: (name: string) => boolean): Promise<void> => {
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    if (!isDropped(name)) continue;
    await db.collection(name).drop();
    await db.collection<Shape>(ABOUT).deleteOne({ _id: name });
  }
};
