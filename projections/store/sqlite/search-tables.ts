import type { DatabaseSync } from '@photostructure/sqlite';
import type { Collection, FieldValue, Searched, StoredDocument } from '../../runtime/read-store.js';
import {
  queryTrigrams,
  isLong,
  indexedTrigrams,
  LONG_TEXT,
  hashOf,
  trigramHashes,
  scopeValuesIn,
  type Search,
} from '../../query/filters/trigrams.js';
import { storedField } from '../stored-text.js';
import { columnOf, tableOf } from './tables.js';

type Database = InstanceType<typeof DatabaseSync>;
type Fields = StoredDocument['fields'];

/**
 * A table of the trigrams (sequences of three characters) of a searched text, ordered by whole numbers (`isNumbered`)
 * or by text. The second kind stores each trigram as a hash in its column `part`.
 */
export type SearchTable = {
  readonly name: string;
  readonly searched: Searched;
  readonly isNumbered: boolean;
};

// Private-use characters, which names hardly ever contain; a name that does is only an unneeded candidate.
const SCOPE_CHARACTERS = 0xe000;
const LONG_MARKER = '\uf000'.repeat(3);
const BETWEEN = '\u0001';

/** Number of documents whose trigrams are sorted together when a table is filled. */
const FILLED_AT_ONCE = 20_000;

/** The search tables of a collection. */
const searchTablesOf = (collection: Collection): readonly SearchTable[] =>
  (collection.searched ?? []).map((searched) => searchTableOf(collection, searched));

/** The search table of one searched text. */
export const searchTableOf = (collection: Collection, searched: Searched): SearchTable => {
  const { scope, field, sort } = searched;
  const name = `"${tableOf(collection).slice(1, -1)}.search.${[...scope, field, sort].join('.')}"`;
  return { name, searched, isNumbered: collection.fields[sort] === 'integer' };
};

/** Three characters that encode a scope: a trigram like any other, which every document of the scope has. */
const scopeText = (scope: readonly FieldValue[]): string => {
  const number = hashOf(JSON.stringify(scope));
  return String.fromCharCode(...[0, 12, 24].map((bits) => SCOPE_CHARACTERS + (Math.floor(number / 2 ** bits) % 4_096)));
};

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/**
 * The MATCH expression for a table ordered by numbers: it finds the rows that contain all texts, or that are too long
 * to be indexed. Where several documents can share a sort value, only trigrams can be matched, and not whole texts: of
 * two rows with one value that are written separately, a trigram in both is recorded at its position in the later row.
 */
export const matchOf = ({ scope, texts, searched }: Search): string => {
  const matched = (searched.isSortUnique ? texts : queryTrigrams(texts)).map(quoted).join(' AND ');
  return `${quoted(scopeText(scope))} AND ((${matched}) OR ${quoted(LONG_MARKER)})`;
};

/** Hashes of the trigrams of a search, and of the marker of long texts. */
export const searchHashes = ({
  scope,
  texts,
}: Search): { readonly hashes: readonly number[]; readonly long: number } => ({
  hashes: trigramHashes(scope, queryTrigrams(texts)),
  long: trigramHashes(scope, [LONG_TEXT])[0] ?? 0,
});

const wellFormedText = (text: string): string => Buffer.from(text).toString();

/** Adds documents to a table; their fields are given in stored form. */
type Adding = (documents: readonly Fields[]) => void;

// One row for all documents of a batch with the same sort value: FTS5 writes out its buffer at every row ID that does
// not ascend.
const addNumberSorted = (db: Database, { name, searched }: SearchTable): Adding => {
  const insert = db.prepare(`INSERT INTO ${name} (rowid, scope, text) VALUES (?, ?, ?)`);
  return (documents) => {
    const rows = new Map<number, { scopes: Set<string>; texts: string[] }>();
    for (const fields of documents) {
      const sort = Number(fields[searched.sort]);
      const row = rows.get(sort) ?? { scopes: new Set(), texts: [] };
      rows.set(sort, row);
      const text = String(fields[searched.field]);
      row.scopes.add(scopeText(scopeValuesIn(searched, fields)));
      row.texts.push(isLong(text) ? LONG_MARKER : text);
    }
    for (const [sort, { scopes, texts }] of [...rows].sort(([a], [b]) => a - b))
      insert.run(BigInt(sort), [...scopes].join(''), texts.join(BETWEEN));
  };
};

const addTextSorted = (db: Database, { name, searched }: SearchTable): Adding => {
  const pair = `json_extract(value, '$[0]'), json_extract(value, '$[1]')`;
  const insert = db.prepare(`INSERT OR IGNORE INTO ${name} SELECT ${pair} FROM json_each(?)`);
  return (documents) => {
    const entries = documents.flatMap((fields) => {
      const numbers = trigramHashes(scopeValuesIn(searched, fields), indexedTrigrams(String(fields[searched.field])));
      const sort = wellFormedText(String(fields[searched.sort]));
      return numbers.map((number) => [number, sort] as const);
    });
    insert.run(JSON.stringify(entries.sort(([a], [b]) => a - b)));
  };
};

const adding = (db: Database, table: SearchTable): Adding => {
  const add = table.isNumbered ? addNumberSorted(db, table) : addTextSorted(db, table);
  const isFilled = (value: FieldValue | undefined): boolean => value !== null && value !== undefined;
  return (documents) => {
    const { field, sort } = table.searched;
    const found = documents.filter((fields) => isFilled(fields[field]) && isFilled(fields[sort]));
    if (found.length > 0) add(found);
  };
};

/**
 * Adds the searched texts of new documents to the search tables. The searched fields of existing documents never
 * change.
 */
const searchWriter = (db: Database, collection: Collection): Adding => {
  const tables = searchTablesOf(collection).map((table) => adding(db, table));
  const needed = new Set((collection.searched ?? []).flatMap(({ scope, field, sort }) => [...scope, field, sort]));
  const storedOf = (fields: Fields): Fields =>
    Object.fromEntries(
      [...needed].map((field) => [field, storedField(collection.fields[field], fields[field] ?? null)]),
    );
  return (documents) => {
    const stored = documents.map(storedOf);
    for (const add of tables) add(stored);
  };
};

/** A document that was not stored before. */
export type NewDocument = { readonly collection: Collection; readonly fields: Fields };

/**
 * Makes the function that indexes the searched texts of new documents. It takes all new documents of a write batch
 * together, so that the entries of each table are written in the table's order.
 */
export const searchKeeper = (db: Database): ((added: readonly NewDocument[]) => void) => {
  const writers = new Map<string, Adding>();
  return (added) => {
    const byTable = new Map<string, { readonly collection: Collection; readonly documents: Fields[] }>();
    for (const { collection, fields } of added) {
      if (!collection.searched) continue;
      const table = tableOf(collection);
      const documents: Fields[] = byTable.get(table)?.documents ?? [];
      documents.push(fields);
      byTable.set(table, { collection, documents });
    }
    for (const [table, { collection, documents }] of byTable) {
      const add = writers.get(table) ?? searchWriter(db, collection);
      writers.set(table, add);
      add(documents);
    }
  };
};

const numbered = ({ isSortUnique }: Searched): string =>
  `fts5(scope, text, content='', columnsize=0, detail=${isSortUnique ? 'full' : 'none'}, tokenize='trigram case_sensitive 1')`;

const TEXT_SORTED = '(part INTEGER NOT NULL, sort TEXT NOT NULL, PRIMARY KEY (part, sort)) WITHOUT ROWID';

const isThere = (db: Database, { name }: SearchTable): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name.slice(1, -1)) !== undefined;

const fill = (db: Database, collection: Collection, table: SearchTable): void => {
  const { scope, field, sort } = table.searched;
  const columns = [...new Set([...scope, field, sort])].map((each) => `${columnOf(each)} AS "${each}"`);
  const rows = db.prepare(`SELECT ${columns.join(', ')} FROM ${tableOf(collection)} ORDER BY ${columnOf(sort)}`);
  const add = adding(db, table);
  let some: Fields[] = [];
  for (const row of rows.iterate() as Iterable<unknown> as Iterable<Fields>) {
    some.push(row);
    if (some.length < FILLED_AT_ONCE) continue;
    add(some);
    some = [];
  }
  add(some);
};

/** Creates missing search tables and fills them from the stored documents, within a transaction of the caller. */
export const makeSearchTables = (db: Database, collections: readonly Collection[]): void => {
  for (const collection of collections) {
    for (const table of searchTablesOf(collection)) {
      if (isThere(db, table)) continue;
      db.exec(
        table.isNumbered
          ? `CREATE VIRTUAL TABLE ${table.name} USING ${numbered(table.searched)}`
          : `CREATE TABLE ${table.name} ${TEXT_SORTED}`,
      );
      fill(db, collection, table);
    }
  }
};

/** Deletes all rows of every table of a file. */
export const emptyTables = (db: Database): void => {
  const tables = db.prepare('PRAGMA table_list').all() as { schema: string; name: string; type: string }[];
  for (const { schema, name, type } of tables) {
    if (schema !== 'main' || name.startsWith('sqlite_')) continue;
    if (type === 'virtual') db.exec(`INSERT INTO "${name}"("${name}") VALUES ('delete-all')`);
    else if (type === 'table') db.exec(`DELETE FROM "${name}"`);
  }
};
