import { randomUUID } from 'node:crypto';
import type { Collection as MongoCollection } from 'mongodb';
import type { Collection, Query, ReadStore, StoredDocument, WriteBatch } from '../../runtime/read-store.js';
import { storedText } from '../stored-text.js';
import { checkpointsIn, checkpointsOf, parkedIn, writeBatch } from './batches.js';
import { type MongoConnection, connect } from './connection.js';
import { documentOf, type Row } from './documents.js';
import { counts, values } from './values.js';
import { mongoFault } from './driver-faults.js';
import { explainQuery, type ExplainedQuery } from './explanations.js';
import { loaded } from './large-documents.js';
import { assertOf, labelDatabase, dropCollections, makeCollections, makeIndexes, readLabel } from './layout.js';
import type { MongoLocation } from './location.js';
import { type Build, buildOf, collectionName, isOfViews, ofBuild } from './names.js';
import { type PageReader, findPage, type PageQuery } from './pages.js';
import { settled } from './transactions.js';
import { writersIn } from './writers.js';

/** Options for opening views in a MongoDB. */
export type MongoReadStoreOptions = {
  readonly location: MongoLocation;
  /** For writers: the log that the views are of. */
  readonly logId?: string;
  /** For readers: the log that the views, if there are any, must be of. */
  readonly readOf?: string;
  /** Time limit of a query, in milliseconds; 2,000 by default. */
  readonly queryLimitMs?: number;
  /** Maximum number of connections in use at a time; 8 by default. */
  readonly connections?: number;
  /** Called after the writes of a batch and before its commit; for tests that stop the process there. */
  readonly beforeCommit?: () => void;
  /** Called when it is unknown whether a batch was written, with the number of the attempt. */
  readonly onUnknown?: (error: Error, times: number) => void;
};

/** A read store in a MongoDB. */
export type MongoReadStore = ReadStore & {
  /** Creates the indexes, which a build that is being rebuilt does without until then. */
  finish(): Promise<void>;
  /** Explains how the server answers a query, one explanation per query to the server. */
  explain(collection: Collection, query: Query, method?: 'find' | 'findDistinct'): Promise<readonly ExplainedQuery[]>;
};

const ignored = (): void => undefined;

/**
 * A transaction that is rolled back at this attempt probably conflicts with one that its writer left open; transactions
 * of live writers end sooner.
 */
const STUCK_TIMES = 5;

type Method = 'find' | 'findDistinct';

type Queries = Pick<MongoReadStore, 'find' | 'findDistinct' | 'countBy' | 'explain' | 'examined'>;

const sumOf = (explanations: readonly ExplainedQuery[], field: 'keys' | 'documents'): number =>
  explanations.reduce((sum, each) => sum + each[field], 0);

const queries = ({ db, guarded }: MongoConnection, build: Build, limitMs: number): Queries => {
  const reader = (): PageReader => ({ db, build, until: performance.now() + limitMs });
  const answer = async (from: PageReader, collection: Collection, query: Query, method: Method): Promise<number> =>
    method === 'find'
      ? (await findPage(from, collection, query)).elements.length
      : (await values(from, collection, query)).values.length;

  const explain = async (
    collection: Collection,
    query: Query,
    method: Method = 'find',
  ): Promise<{ explanations: readonly ExplainedQuery[]; returned: number }> => {
    const explanations: ExplainedQuery[] = [];
    const onQuery = async (pageQuery: PageQuery): Promise<void> => {
      explanations.push(await explainQuery(reader(), collection, query.where, pageQuery));
    };
    return { explanations, returned: await answer({ ...reader(), onQuery }, collection, query, method) };
  };

  return {
    find: (collection, query) => guarded(() => findPage(reader(), collection, query)),
    findDistinct: (collection, query) => guarded(() => values(reader(), collection, query)),
    countBy: (collection, query, by) => guarded(() => counts(reader(), collection, query, by)),
    explain: (...given) => guarded(async () => (await explain(...given)).explanations),
    examined: (...given) =>
      guarded(async () => {
        const { explanations, returned } = await explain(...given);
        return { keys: sumOf(explanations, 'keys'), documents: sumOf(explanations, 'documents'), returned };
      }),
  };
};

type Lookups = Pick<ReadStore, 'get' | 'getMany' | 'count' | 'checkpoints' | 'parked'>;

const lookups = ({ db, guarded }: MongoConnection, build: Build): Lookups => {
  const rows = (collection: Collection): MongoCollection<Row> => db.collection<Row>(collectionName(collection, build));
  const whole = async (collection: Collection, found: Row): Promise<StoredDocument> => {
    const { row, bytes } = await loaded(db, build, collectionName(collection, build), found);
    return documentOf(collection.fields, row, bytes);
  };
  return {
    get: (collection, key) =>
      guarded(async () => {
        const row = await rows(collection).findOne({ _id: storedText(key) });
        return row ? whole(collection, row) : undefined;
      }),
    getMany: (collection, keys) =>
      guarded(async () => {
        const found = await rows(collection)
          .find({ _id: { $in: keys.map(storedText) } })
          .toArray();
        const documents: StoredDocument[] = [];
        for (const row of found) documents.push(await whole(collection, row));
        return documents;
      }),
    count: (collection) => guarded(() => rows(collection).countDocuments({}, { hint: '_id_' })),
    checkpoints: (names) => guarded(() => checkpointsIn(db, build, names)),
    parked: () => guarded(() => parkedIn(db, build)),
  };
};

/** Creates the store of one build. `close` closes the connection. */
export const storeOf = (
  connection: MongoConnection,
  build: Build,
  options: MongoReadStoreOptions & { readonly isGrowing?: boolean },
): MongoReadStore => {
  const { client, db, guarded } = connection;
  const { location, onUnknown = ignored, beforeCommit } = options;
  const database = { db, shown: location.shown };
  const prepared = new Map<string, Collection>();
  const writers = writersIn(db);
  let isClosed = false;

  const prepare = async (collections: readonly Collection[]): Promise<void> => {
    if (options.logId === undefined) return;
    // The description may have been dropped meanwhile.
    if (options.isGrowing !== true) await labelDatabase(database, options.logId, build);
    for (const collection of collections) prepared.set(collectionName(collection, build), collection);
    await makeCollections(database, collections, build);
    if (options.isGrowing !== true) await makeIndexes(database, collections, build);
  };

  const write = (batch: WriteBatch): Promise<void> => {
    const id = randomUUID();
    return settled(client, {
      run: async (session) => {
        await writers.note(session);
        const isNew = await writeBatch({ db, build, session }, batch, id);
        if (isNew) beforeCommit?.();
        return isNew;
      },
      onUnknown: (error, times) => onUnknown(mongoFault(error, location.shown) as Error, times),
      onRolledBack: async (times) => {
        writers.forget();
        if (times === STUCK_TIMES) await writers.endOthers();
      },
      isGivenUp: () => isClosed,
    });
  };

  // The checkpoints are deleted last: until then, a process that opens the views still sees that they have to be
  // cleared.
  const clear = async (): Promise<void> => {
    const checkpoints = ofBuild('checkpoints', build);
    await dropCollections(db, (name) => isOfViews(name) && buildOf(name) === build && name !== checkpoints);
    await checkpointsOf(db, build).deleteMany({});
    await prepare([...prepared.values()]);
  };

  return {
    build,
    ...lookups(connection, build),
    ...queries(connection, build, options.queryLimitMs ?? 2_000),
    prepare: (collections) => guarded(() => prepare(collections)),
    finish: () => guarded(() => makeIndexes(database, [...prepared.values()], build)),
    write: (batch) => guarded(() => write(batch)),
    clear: () => guarded(clear),
    close: async () => {
      isClosed = true;
      await connection.close();
    },
  };
};

/**
 * Opens a read store in a MongoDB, with one collection per version of a read model. It uses the build that is current
 * when it is opened. Without `logId` it only reads.
 *
 * @throws {StoreUnavailable} when the server cannot be reached.
 * @throws {ReadStoreUnusable} when the server is older than MongoDB 6.0, refuses the credentials, has no transactions,
 * or has the views of another log or of a newer release.
 */
export const mongoReadStore = async (options: MongoReadStoreOptions): Promise<MongoReadStore> => {
  const { location, logId, readOf, connections } = options;
  const connection = await connect(location, connections);
  try {
    const { db, guarded } = connection;
    const stored = await guarded(async () =>
      logId === undefined ? readLabel(db, location.shown) : labelDatabase({ db, shown: location.shown }, logId),
    );
    if (stored && readOf !== undefined) assertOf(stored, readOf, location.shown);
    return storeOf(connection, stored?.build ?? 0, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
};
