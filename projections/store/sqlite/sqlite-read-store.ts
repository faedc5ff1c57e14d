import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { CheckpointMoved, StoreUnavailable } from '../../../services/kernel/fault.js';
import type {
  Checkpoint,
  Collection,
  PageCursor,
  ParkedStream,
  Query,
  ReadStore,
  WriteBatch,
} from '../../runtime/read-store.js';
import { type DocumentStatements, documentStatements } from './document-statements.js';
import { sqliteFault, driverCall } from './driver-faults.js';
import { sqliteQueries } from './sqlite-queries.js';
import { emptyTables, makeSearchTables, searchKeeper } from './search-tables.js';
import {
  checkFormat,
  checkTables,
  hasBookkeeping,
  makeBookkeeping,
  makeIndexes,
  makeTables,
  tableOf,
} from './tables.js';
import { writeStatements } from './write-statements.js';

type Database = InstanceType<typeof DatabaseSync>;

/** Options for opening a file of views. */
export type SqliteReadStoreOptions = {
  /** `undefined` for views that are deleted when they are closed, in memory or in a temporary file of SQLite. */
  readonly directory: string | undefined;
  /** Several processes may open views for writing: their transactions take turns. Any number may read meanwhile. */
  readonly mode: 'read-write' | 'read-only';
  /** The file's name in the directory; `views.db` by default. */
  readonly file?: string;
  /** For views that are being rebuilt: indexes are created at the end, and a power cut may damage the file. */
  readonly isGrowing?: boolean;
  /** Time limit of a query that scans or searches, in milliseconds; 250 by default. */
  readonly queryLimitMs?: number;
  /** Called after the writes of a batch and before its commit; for tests that stop the process there. */
  readonly beforeCommit?: () => void;
};

/** A read store in a SQLite file. */
export type SqliteReadStore = ReadStore & {
  /**
   * Reads a page and passes each element to `take` as it is read.
   *
   * @returns the cursor of the last element when more follow.
   */
  findEach(collection: Collection, query: Query, take: (element: Uint8Array) => void): Promise<PageCursor | undefined>;
  /**
   * Creates the indexes and search tables, which a file that is being rebuilt (`isGrowing`) does without until then.
   */
  finish(): Promise<void>;
};

/** The name of a temporary database: https://www.sqlite.org/inmemorydb.html */
const TEMPORARY = '';

/** File name of the views in a data directory. */
export const VIEWS_FILE = 'views.db';

/** @throws {StoreUnavailable} while another process is still creating the file. */
const whole = (db: Database): Database => {
  if (hasBookkeeping(db)) return db;
  db.close();
  throw new StoreUnavailable('the views are being built');
};

/**
 * Closes the file when its format is unknown.
 *
 * @throws {DataDirectoryUnusable} when a newer release has written the file.
 */
const assertKnownFormat = (db: Database, path: string): void => {
  try {
    checkFormat(db, path);
  } catch (error) {
    db.close();
    throw error;
  }
};

/**
 * Checks that this release knows the format of the views in a data directory, if there are any.
 *
 * @throws {DataDirectoryUnusable} when a newer release has written them, or they are damaged.
 * @throws {StoreUnavailable} when the file cannot be opened.
 */
export const checkViewsFile = (directory: string): Promise<void> =>
  driverCall(() => {
    const path = join(directory, VIEWS_FILE);
    if (!existsSync(path)) return;
    const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    assertKnownFormat(db, path);
    db.close();
  });

// NORMAL loses nothing when the process dies. A power cut may lose the last commits, documents and checkpoint together;
// they are projected from the log again.
const open = ({ directory, mode, file = VIEWS_FILE, isGrowing = false }: SqliteReadStoreOptions): Database => {
  const isReadOnly = mode === 'read-only';
  if (!isReadOnly && directory !== undefined) mkdirSync(directory, { recursive: true });
  const path = directory === undefined ? TEMPORARY : join(directory, file);
  const db = new DatabaseSync(path, { readOnly: isReadOnly, timeout: 5_000 });
  assertKnownFormat(db, path);
  db.exec('PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;');
  if (isReadOnly) return whole(db);
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${isGrowing ? 'OFF' : 'NORMAL'}; PRAGMA wal_autocheckpoint = 4000;`,
  );
  makeBookkeeping(db);
  return db;
};

const countIn = (db: Database, collection: Collection): number =>
  (db.prepare(`SELECT count(*) AS documents FROM ${tableOf(collection)}`).get() as { documents: number }).documents;

const inTransaction = (db: Database, work: () => void): void => {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
};

/**
 * Opens a read store in a SQLite file, with one table per version of a collection. Reads and writes are synchronous
 * although they return promises: a thread that must not block uses the store on another thread.
 *
 * @throws {DataDirectoryUnusable} when the file is damaged, or a newer release has written it.
 * @throws {StoreUnavailable} when the file cannot be opened; for `read-only` also while another process is creating it.
 */
export const sqliteReadStore = (options: SqliteReadStoreOptions): SqliteReadStore => {
  const db = opened(options);
  let prepared: readonly Collection[] = [];
  const isGrowing = options.isGrowing === true;
  // A file that is being rebuilt gets its search tables at the end.
  const keepSearched = isGrowing ? undefined : searchKeeper(db);
  const documents = new Map<string, DocumentStatements>();
  const statementsOf = (collection: Collection): DocumentStatements => {
    const table = tableOf(collection);
    const known = documents.get(table) ?? documentStatements(db, collection);
    documents.set(table, known);
    return known;
  };
  const queries = sqliteQueries(db, options.queryLimitMs ?? 250);
  const bookkeeping = writeStatements(db);

  const write = ({ documents: changed, checkpoints, parked = [] }: WriteBatch): void => {
    inTransaction(db, () => {
      for (const move of checkpoints)
        if (!bookkeeping.move(move)) throw new CheckpointMoved(`another process has moved the checkpoint ${move.name}`);
      for (const move of parked)
        if (!bookkeeping.movePark(move))
          throw new CheckpointMoved(`another process has moved the parked stream ${move.stream}`);
      const added = changed.filter((put) => statementsOf(put.collection).put(put));
      keepSearched?.(added.map(({ collection, document: { fields } }) => ({ collection, fields })));
      options.beforeCommit?.();
    });
  };

  const finish = (collections: readonly Collection[]): void => {
    makeIndexes(db, collections);
    inTransaction(db, () => makeSearchTables(db, collections));
  };

  const prepare = (collections: readonly Collection[]): void => {
    prepared = collections;
    if (options.mode === 'read-only') checkTables(db, collections);
    else makeTables(db, collections);
    if (options.mode === 'read-write' && !isGrowing) finish(collections);
  };

  const clear = (): void => {
    inTransaction(db, () => emptyTables(db));
  };

  return {
    prepare: (collections) => driverCall(() => prepare(collections)),
    finish: () => driverCall(() => finish(prepared)),
    get: (collection, key) => driverCall(() => statementsOf(collection).get(key)),
    getMany: (collection, keys) => driverCall(() => statementsOf(collection).getMany(keys)),
    find: (collection, query) => driverCall(() => queries.find(collection, query)),
    findEach: (collection, query, take) => driverCall(() => queries.page(collection, query, take)),
    findDistinct: (collection, query) => driverCall(() => queries.findDistinct(collection, query)),
    countBy: (collection, query, by) => driverCall(() => queries.countBy(collection, query, by)),
    examined: (collection, query, method = 'find') => driverCall(() => queries.examined(collection, query, method)),
    count: (collection) => driverCall(() => countIn(db, collection)),
    checkpoints: (names): Promise<ReadonlyMap<string, Checkpoint>> => driverCall(() => bookkeeping.checkpoints(names)),
    write: (batch) => driverCall(() => write(batch)),
    parked: (): Promise<readonly ParkedStream[]> => driverCall(() => bookkeeping.parked()),
    clear: () => driverCall(clear),
    close: () => driverCall(() => db.isOpen && db.close()).then(() => undefined),
  };
};

const opened = (options: SqliteReadStoreOptions): Database => {
  try {
    return open(options);
  } catch (error) {
    throw sqliteFault(error);
  }
};
