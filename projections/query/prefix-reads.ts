import { indexedFieldsOf, type HeldDocument } from '../runtime/folding.js';
import type { FoldedPrefix, HeldDocuments } from '../runtime/prefix-fold.js';
import type {
  Collection,
  Condition,
  PageCursor,
  DocumentReads,
  Found,
  Query,
  StoredDocument,
} from '../runtime/read-store.js';
import { compareValues, satisfies } from './filters/satisfies.js';

/** A document that is searched in memory. */
type Row = { readonly held: HeldDocument; readonly fields: StoredDocument['fields'] };

type Order = Query['orderBy'];

const cursorOf = ({ held: { key }, fields }: Row, { field }: Order): PageCursor => ({
  value: fields[field] ?? null,
  key,
});

const compareIn = ({ direction }: Order, a: PageCursor, b: PageCursor): number => {
  const ascending = compareValues(a.value, b.value) || compareValues(a.key, b.key);
  return direction === 'ascending' ? ascending : -ascending;
};

const pageOf = (rows: readonly Row[], query: Query, elementOf: (held: HeldDocument) => Uint8Array): Found => {
  const { where, orderBy, after, offset = 0, limit } = query;
  const found = rows
    .filter(({ fields }) => where.every((each) => satisfies(fields, each)))
    .map((row) => ({ held: row.held, at: cursorOf(row, orderBy) }))
    .filter(({ at }) => !after || compareIn(orderBy, at, after) > 0)
    .sort((a, b) => compareIn(orderBy, a.at, b.at));
  const page = found.slice(offset, offset + limit);
  const last = page.at(-1);
  return {
    elements: page.map(({ held }) => elementOf(held)),
    ...(last && found.length > offset + limit && { next: last.at }),
  };
};

/** False for a condition on documents of other collections, which only a store can look up. */
const isOfDocument = ({ is }: Condition): boolean => is !== 'key of';

/**
 * Reads the documents into which a prefix of one stream was folded. While they are held in memory, lists are found
 * there, and only those of a page are encoded. For a query that only a store can answer, all documents are first
 * written to a store.
 */
export const prefixReads = ({ held, encoded, toStore }: FoldedPrefix): DocumentReads => {
  const rows = new Map<string, readonly Row[]>();

  const rowsOf = ({ name }: Collection, documents: HeldDocuments): readonly Row[] => {
    const known = rows.get(name);
    if (known) return known;
    const all = [...(documents.get(name)?.values() ?? [])].map((each) => ({
      held: each,
      fields: indexedFieldsOf(each),
    }));
    rows.set(name, all);
    return all;
  };
  const stored = (): Promise<DocumentReads> => {
    rows.clear();
    return toStore();
  };
  const elementOf = (document: HeldDocument): Uint8Array => {
    const { listElement, response } = encoded(document);
    return listElement ?? response;
  };
  const getMany: DocumentReads['getMany'] = async (collection, keys) => {
    const documents = held();
    if (!documents) return (await stored()).getMany(collection, keys);
    const ofCollection = documents.get(collection.name);
    return keys.flatMap((key) => ofCollection?.get(key) ?? []).map(encoded);
  };

  return {
    getMany,
    get: async (collection, key) => (await getMany(collection, [key]))[0],
    find: async (collection, query) => {
      const documents = held();
      const inMemory = documents && query.where.every(isOfDocument) ? rowsOf(collection, documents) : undefined;
      return inMemory ? pageOf(inMemory, query, elementOf) : (await stored()).find(collection, query);
    },
    findDistinct: async (collection, query) => (await stored()).findDistinct(collection, query),
    parked: () => Promise.resolve([]),
  };
};
