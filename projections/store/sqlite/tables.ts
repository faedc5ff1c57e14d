import type { DatabaseSync } from '@photostructure/sqlite';
import { DataDirectoryUnusable } from '../../../services/kernel/fault.js';
import type { Collection, FieldType } from '../../runtime/read-store.js';

type Database = InstanceType<typeof DatabaseSync>;

const TYPES: Record<FieldType, string> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL', pairs: 'TEXT' };

/** Table name of a collection: its name and version, joined with `_v`. */
export const tableOf = (collection: Pick<Collection, 'name' | 'version'>): string =>
  `"${collection.name.replaceAll('"', '')}_v${collection.version}"`;

/** Column name of a field; the prefix distinguishes fields from the columns that every table has. */
export const columnOf = (field: string): string => `"f_${field.replaceAll('"', '')}"`;

/** Name of the index over these fields. */
export const indexOf = (collection: Collection, fields: readonly string[]): string =>
  `"${tableOf(collection).slice(1, -1)}.${fields.join('.')}"`;

// The fields precede the encoded messages: a filter that scans rows then rarely reads past a document's first page.
const columnsOf = (collection: Collection): readonly string[] => [
  'key TEXT NOT NULL UNIQUE',
  'position INTEGER NOT NULL',
  ...Object.entries(collection.fields).map(([field, type]) => `${columnOf(field)} ${TYPES[type]}`),
  'answer BLOB NOT NULL',
  'element BLOB',
  'state BLOB',
];

const isAsDeclared = (db: Database, collection: Collection): boolean => {
  const found = db.prepare(`PRAGMA table_info(${tableOf(collection)})`).all() as { name: string; type: string }[];
  const declared = columnsOf(collection).map((column) => column.split(' ').slice(0, 2).join(' '));
  const quoted = found.map(({ name, type }) => `${name.startsWith('f_') ? `"${name}"` : name} ${type}`);
  return quoted.join() === declared.join();
};

/**
 * Creates the missing tables of collections.
 *
 * @throws {DataDirectoryUnusable} when a table exists with other columns than its collection declares.
 */
export const makeTables = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections)
    db.exec(`CREATE TABLE IF NOT EXISTS ${tableOf(collection)} (${columnsOf(collection).join(', ')})`);
  checkTables(db, collections);
};

/** Creates the missing indexes of collections. */
export const makeIndexes = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections) {
    for (const fields of collection.indexes) {
      const carried = collection.carried?.[fields.join('.')] ?? [];
      const columns = [...fields.map(columnOf), 'key', ...carried.map(columnOf)].join(', ');
      db.exec(`CREATE INDEX IF NOT EXISTS ${indexOf(collection, fields)} ON ${tableOf(collection)} (${columns})`);
    }
  }
};

/**
 * Compares the tables with what their collections declare.
 *
 * @throws {DataDirectoryUnusable} when a table is missing or has other columns.
 */
export const checkTables = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections) {
    if (isAsDeclared(db, collection)) continue;
    throw new DataDirectoryUnusable(
      `the view ${collection.name}, version ${collection.version}, is not stored as this release has it: rebuild the views`,
    );
  }
};

/** Format of a file of views; 0 is a file from before formats were recorded, with the same contents. */
const FORMAT = 1;

/** @throws {DataDirectoryUnusable} when a newer release has written a file of views. */
export const checkFormat = (db: Database, path: string): void => {
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (format <= FORMAT) return;
  throw new DataDirectoryUnusable(
    `views ${path} cannot be used: a newer release has written them (format ${format}; this release knows ${FORMAT}): start that one, or remove them, and they are folded from the log again`,
  );
};

/** Creates the tables that every file of views has, and records the format. */
export const makeBookkeeping = (db: Database): void =>
  db.exec(`
    PRAGMA user_version = ${FORMAT};
    CREATE TABLE IF NOT EXISTS checkpoints (name TEXT PRIMARY KEY, log_id TEXT NOT NULL, position INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS parked_streams (
      views TEXT NOT NULL, stream TEXT NOT NULL, position INTEGER NOT NULL, reason TEXT NOT NULL,
      PRIMARY KEY (views, stream)
    );
  `);

/** True when a file has the tables that every file of views has. */
export const hasBookkeeping = (db: Database): boolean =>
  db.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('checkpoints', 'parked_streams')`).all().length === 2;
