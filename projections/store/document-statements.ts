import type { DatabaseSync } from '@photostructure/sqlite';
import type { Collection, FieldValue, StoredDocument } from '../kernel/read-store.js';
import { originalField, originalText, storedField, storedText } from './stored-text.js';
import { columnOf, tableOf } from './tables.js';

type Database = InstanceType<typeof DatabaseSync>;
type Statement = ReturnType<Database['prepare']>;
type Cell = FieldValue | bigint | Uint8Array;

/** The statements of one collection, prepared once. */
export type DocumentStatements = {
  get(key: string): StoredDocument | undefined;
  getMany(keys: readonly string[]): StoredDocument[];
  put(document: StoredDocument): void;
};

/** Integers come as bigints, because a position may be above 2^53; those of fields are not. */
const fieldOf = (cell: Cell | undefined): FieldValue =>
  typeof cell === 'bigint' ? Number(cell) : (cell as FieldValue);

const documentOf = (types: Collection['fields'], row: readonly Cell[]): StoredDocument => {
  const [key, position] = row;
  const [answer, element, state] = row.slice(-3) as [Uint8Array, Uint8Array | null, Uint8Array | null];
  return {
    key: originalText(key as string),
    position: position as bigint,
    fields: Object.fromEntries(
      Object.entries(types).map(([field, type], i) => [field, originalField(type, fieldOf(row[i + 2]))]),
    ),
    answer,
    ...(element && { element }),
    ...(state && { state }),
  };
};

const encodingsOf = ({ answer, element, state }: StoredDocument): Cell[] => [answer, element ?? null, state ?? null];

/**
 * Updates that set only the fields which have changed: setting a field writes every index that has it, whether its
 * value is another or not, and that is most of the price of an update.
 */
const updates = (db: Database, table: string): ((changed: readonly string[]) => Statement) => {
  const prepared = new Map<string, Statement>();
  return (changed) => {
    const kind = changed.join();
    const known = prepared.get(kind);
    if (known) return known;
    const columns = ['position', ...changed.map(columnOf), 'answer', 'element', 'state'];
    const statement = db.prepare(`UPDATE ${table} SET ${columns.join(' = ?, ')} = ? WHERE rowid = ?`);
    prepared.set(kind, statement);
    return statement;
  };
};

const writer = (db: Database, collection: Collection): DocumentStatements['put'] => {
  const table = tableOf(collection);
  const fields = Object.keys(collection.fields);
  const columns = ['key', 'position', ...fields.map(columnOf), 'answer', 'element', 'state'];
  const before = ['rowid', 'position', ...fields.map(columnOf)].join(', ');
  const find = db.prepare(`SELECT ${before} FROM ${table} WHERE key = ?`, { readBigInts: true, returnArrays: true });
  const insert = db.prepare(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  const update = updates(db, table);
  return (document) => {
    const { position } = document;
    const key = storedText(document.key);
    const values = fields.map((field) => storedField(collection.fields[field], document.fields[field] ?? null));
    const row = find.get(key) as Cell[] | undefined;
    if (!row) {
      insert.run(key, position, ...values, ...encodingsOf(document));
      return;
    }
    const [rowid, seen] = row as [bigint, bigint];
    if (position <= seen) return;
    const changed = fields.flatMap((_, i) => (fieldOf(row[i + 2]) === values[i] ? [] : [i]));
    const set = changed.map((i) => values[i] ?? null);
    update(changed.map((i) => fields[i] ?? '')).run(position, ...set, ...encodingsOf(document), rowid);
  };
};

/** Prepares the reads and writes of a collection's documents. */
export const documentStatements = (db: Database, collection: Collection): DocumentStatements => {
  const fields = Object.keys(collection.fields);
  const columns = ['key', 'position', ...fields.map(columnOf), 'answer', 'element', 'state'];
  const select = `SELECT ${columns.join(', ')} FROM ${tableOf(collection)} WHERE key`;
  const rows = { readBigInts: true, returnArrays: true };
  const one = db.prepare(`${select} = ?`, rows);
  const many = db.prepare(`${select} IN (SELECT value FROM json_each(?))`, rows);
  return {
    get: (key) => {
      const row = one.get(storedText(key)) as Cell[] | undefined;
      return row && documentOf(collection.fields, row);
    },
    getMany: (keys) =>
      (many.all(JSON.stringify(keys.map(storedText))) as Cell[][]).map((row) => documentOf(collection.fields, row)),
    put: writer(db, collection),
  };
};
