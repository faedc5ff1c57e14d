import type { DatabaseSync } from '@photostructure/sqlite';
import { DataDirectoryUnusable } from '../../../services/kernel/fault.js';
import type { Collection, FieldType } from '../../runtime/read-store.js';

type Database = InstanceType<typeof DatabaseSync>;

const TYPES: Record<FieldType, string> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL', pairs: 'TEXT' };

/** The table of a collection; a name, a version and `_v` between them. */
export const tableOf = (collection: Pick<Collection, 'name' | 'version'>): string =>
  `"${collection.name.replaceAll('"', '')}_v${collection.version}"`;

/** The column of a field; the prefix keeps fields apart from the columns that every table has. */
export const columnOf = (field: string): string => `"f_${field.replaceAll('"', '')}"`;

/** The name of the index over these fields. */
export const indexOf = (collection: Collection, fields: readonly string[]): string =>
  `"${tableOf(collection).slice(1, -1)}.${fields.join('.')}"`;

// The fields stand before the encodings: a filter that walks rows then never reads past a document's first page.
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
 * Makes the tables of collections where they are missing.
 *
 * @throws {DataDirectoryUnusable} when a table is there in another shape than its collection has.
 */
export const makeTables = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections)
    db.exec(`CREATE TABLE IF NOT EXISTS ${tableOf(collection)} (${columnsOf(collection).join(', ')})`);
  checkTables(db, collections);
};

/** Makes the indexes of collections where they are missing. */
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
 * Holds the tables against what their collections declare.
 *
 * @throws {DataDirectoryUnusable} when one is missing or of another shape.
 */
export const checkTables = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections) {
    if (isAsDeclared(db, collection)) continue;
    throw new DataDirectoryUnusable(
      `the view ${collection.name}, version ${collection.version}, is not stored as this release has it: rebuild the views`,
    );
  }
};

/** How a file of views is to be read; 0 is one from before this was said, which is the same. */
const FORMAT = 1;

/** @throws {DataDirectoryUnusable} when a newer release has written a file of views. */
export const checkFormat = (db: Database, path: string): void => {
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (format <= FORMAT) return;
  throw new DataDirectoryUnusable(
    `views ${path} cannot be used: a newer release has written them (format ${format}; this release knows ${FORMAT}): start that one, or remove them, and they are folded from the log again`,
  );
};

/** Makes what every file of views has. */
export const makeBookkeeping = (db: Database): void =>
  db.exec(`
    PRAGMA user_version = ${FORMAT};
    CREATE TABLE IF NOT EXISTS checkpoints (name TEXT PRIMARY KEY, log_id TEXT NOT NULL, position INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS parked_streams (
      views TEXT NOT NULL, stream TEXT NOT NULL, position INTEGER NOT NULL, reason TEXT NOT NULL,
      PRIMARY KEY (views, stream)
    );
  `);

/** Whether a file has what every file of views has. */
export const hasBookkeeping = (db: Database): boolean =>
  db.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('checkpoints', 'parked_streams')`).all().length === 2;
