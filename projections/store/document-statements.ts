import type { DatabaseSync } from '@photostructure/sqlite';
import type { Collection, FieldValue, StoredDocument } from '../kernel/read-store.js';
import { columnOf, tableOf } from './tables.js';

type Database = InstanceType<typeof DatabaseSync>;
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

const documentOf = (fields: readonly string[], row: readonly Cell[]): StoredDocument => {
  const [key, position] = row;
  const [answer, element, state] = row.slice(-3) as [Uint8Array, Uint8Array | null, Uint8Array | null];
  return {
    key: key as string,
    position: position as bigint,
    fields: Object.fromEntries(fields.map((field, i) => [field, fieldOf(row[i + 2])])),
    answer,
    ...(element && { element }),
    ...(state && { state }),
  };
};

const upsertSql = (table: string, columns: readonly string[]): string => {
  const changed = columns.filter((column) => column !== 'key').map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (key) DO UPDATE SET ${changed.join(', ')} WHERE excluded.position > position`;
};

/** Prepares the reads and writes of a collection's documents. */
export const documentStatements = (db: Database, collection: Collection): DocumentStatements => {
  const fields = Object.keys(collection.fields);
  const columns = ['key', 'position', ...fields.map(columnOf), 'answer', 'element', 'state'];
  const select = `SELECT ${columns.join(', ')} FROM ${tableOf(collection)} WHERE key`;
  const rows = { readBigInts: true, returnArrays: true };
  const one = db.prepare(`${select} = ?`, rows);
  const many = db.prepare(`${select} IN (SELECT value FROM json_each(?))`, rows);
  const upsert = db.prepare(upsertSql(tableOf(collection), columns));
  return {
    get: (key) => {
      const row = one.get(key) as Cell[] | undefined;
      return row && documentOf(fields, row);
    },
    getMany: (keys) => (many.all(JSON.stringify(keys)) as Cell[][]).map((row) => documentOf(fields, row)),
    put: ({ key, position, fields: values, answer, element, state }) =>
      upsert.run(
        key,
        position,
        ...fields.map((field) => values[field] ?? null),
        answer,
        element ?? null,
        state ?? null,
      ),
  };
};
