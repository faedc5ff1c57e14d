import type { DatabaseSync } from '@photostructure/sqlite';
import type {
  ExpectedDocument,
  Collection,
  FieldValue,
  DocumentWrite,
  StoredDocument,
} from '../../runtime/read-store.js';
import { originalField, originalText, storedField, storedText } from '../stored-text.js';
import { columnOf, tableOf } from './tables.js';

type Database = InstanceType<typeof DatabaseSync>;
type Statement = ReturnType<Database['prepare']>;
type Cell = FieldValue | bigint | Uint8Array;

/** Prepared statements of one collection. */
export type DocumentStatements = {
  get(key: string): StoredDocument | undefined;
  getMany(keys: readonly string[]): StoredDocument[];
  /**
   * Stores a document unless the stored one is at the same or a later position; with `isLate`, unless it is at a later
   * one.
   *
   * @returns true when no document was stored under the key before.
   */
  put(put: Omit<DocumentWrite, 'collection'>): boolean;
};

/** Integers are read as bigints because a position may exceed 2^53; those of fields do not. */
const fieldOf = (cell: Cell | undefined): FieldValue =>
  typeof cell === 'bigint' ? Number(cell) : (cell as FieldValue);

const fieldsOf = (types: Collection['fields'], cells: readonly Cell[]): StoredDocument['fields'] =>
  Object.fromEntries(Object.entries(types).map(([field, type], i) => [field, originalField(type, fieldOf(cells[i]))]));

const documentOf = (types: Collection['fields'], row: readonly Cell[]): StoredDocument => {
  const [key, position, ...cells] = row;
  const [response, listElement, foldState] = row.slice(-3) as [Uint8Array, Uint8Array | null, Uint8Array | null];
  return {
    key: originalText(key as string),
    position: position as bigint,
    fields: fieldsOf(types, cells),
    response,
    ...(listElement && { listElement }),
    ...(foldState && { foldState }),
  };
};

const encodingsOf = ({ response, listElement, foldState }: StoredDocument): Cell[] => [
  response,
  listElement ?? null,
  foldState ?? null,
];

/**
 * Prepares updates that set only the changed fields: setting a column rewrites every index that contains it, even when
 * the value stays the same, and that is most of the cost of an update.
 */
const updates = (db: Database, table: string): ((changed: readonly string[]) => Statement) => {
  const prepared = new Map<string, Statement>();
  return (changed) => {
    const kind = changed.join();
    const known = prepared.get(kind);
    if (known) return known;
    const columns = ['position', ...changed.map(columnOf), 'answer', 'element', 'state'];
    const statement = db.prepare(`UPDATE ${table} SET ${columns.join(' = ?, ')} = ? WHERE key = ? AND position = ?`);
    prepared.set(kind, statement);
    return statement;
  };
};

const writer = (db: Database, collection: Collection): DocumentStatements['put'] => {
  const table = tableOf(collection);
  const types = Object.entries(collection.fields);
  const fields = types.map(([field]) => field);
  const columns = ['key', 'position', ...fields.map(columnOf), 'answer', 'element', 'state'];
  const found = ['position', ...fields.map(columnOf)].join(', ');
  const find = db.prepare(`SELECT ${found} FROM ${table} WHERE key = ?`, { readBigInts: true, returnArrays: true });
  const add = db.prepare(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`,
  );
  const update = updates(db, table);

  const insert = (document: StoredDocument): boolean => {
    const values = types.map(([field, type]) => storedField(type, document.fields[field] ?? null));
    const { changes } = add.run(storedText(document.key), document.position, ...values, ...encodingsOf(document));
    return changes === 1;
  };

  const change = (document: StoredDocument, before: Exclude<ExpectedDocument, 'nothing'>): boolean => {
    const { key, position } = document;
    const changed = types.filter(([field]) => (before.fields[field] ?? null) !== (document.fields[field] ?? null));
    const set = changed.map(([field, type]) => storedField(type, document.fields[field] ?? null));
    const statement = update(changed.map(([field]) => field));
    const { changes } = statement.run(position, ...set, ...encodingsOf(document), storedText(key), before.position);
    return changes === 1;
  };

  /** Stores a document over `before`; `undefined` when the store holds something else. */
  const put = (
    { document, isLate }: Omit<DocumentWrite, 'collection'>,
    before: ExpectedDocument,
  ): 'added' | 'known' | undefined => {
    if (before === 'nothing') return insert(document) ? 'added' : undefined;
    const { position } = document;
    const isSeen = isLate === true ? position < before.position : position <= before.position;
    return isSeen || change(document, before) ? 'known' : undefined;
  };

  const stored = (key: string): ExpectedDocument => {
    const row = find.get(storedText(key)) as Cell[] | undefined;
    if (!row) return 'nothing';
    const [position, ...cells] = row;
    return { position: position as bigint, fields: fieldsOf(collection.fields, cells) };
  };

  // No other connection writes during the transaction, so what is read here stays true.
  return (given) => {
    const done = given.before === undefined ? undefined : put(given, given.before);
    return (done ?? put(given, stored(given.document.key))) === 'added';
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
