import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { narrowQuery } from '../../projections/query/narrowed-query.js';
import type { Collection, Condition, Query, ReadStore, StoredDocument } from '../../projections/runtime/read-store.js';

/** A collection in which several documents may have the same sort value. */
const books: Collection = {
  name: 'books',
  version: 1,
  fields: { project: 'text', title: 'text', state: 'integer', at: 'integer' },
  indexes: [
    ['project', 'at'],
    ['project', 'state', 'at'],
    ['project', 'title'],
  ],
  searched: [{ field: 'title', scope: ['project'], sort: 'at' }],
};

/** A collection in which no two documents have the same sort value. */
const films: Collection = {
  ...books,
  name: 'films',
  indexes: [['project', 'at']],
  searched: [{ field: 'title', scope: ['project'], sort: 'at', isSortUnique: true }],
};

/** A collection whose sort value is a text. */
const authors: Collection = {
  name: 'authors',
  version: 1,
  fields: { project: 'text', title: 'text', state: 'integer', name: 'text' },
  indexes: [
    ['project', 'name'],
    ['project', 'state', 'name'],
  ],
  searched: [{ field: 'title', scope: ['project'], sort: 'name' }],
};

type Book = { readonly title: string; readonly state: number; readonly at: number };

/**
 * Few characters, so that texts have substrings in common; among them those that queries and stores treat specially.
 */
const characters = fc.constantFrom(
  'a',
  'a',
  'b',
  'b',
  'c',
  'A',
  '"',
  "'",
  '%',
  '_',
  '\\',
  'é',
  '😀',
  '\0',
  '\u0001',
  ' ',
);
const texts = (minLength: number, maxLength: number) => fc.string({ unit: characters, minLength, maxLength });
/** Short titles, and some of 1,000 to 1,040 characters: those above 1,000 are not indexed by their trigrams. */
const titles = fc.oneof(texts(0, 12), texts(0, 12), texts(1_000, 1_040));
const shelf = fc.array(fc.record({ title: titles, state: fc.nat(1), at: fc.nat(9) }), { maxLength: 30 });

const documentOf = (project: string, { title, state, at }: Book, i: number): StoredDocument => ({
  key: `${project}/${String(i).padStart(2, '0')}`,
  position: 1n,
  fields: { project, title, state, at, name: `n${at}` },
  response: new TextEncoder().encode(`${project}/${String(i).padStart(2, '0')}`),
});

/** The same books with reversed titles in another project, in which a search must not find them. */
const elsewhere = (project: string, books: readonly Book[]): readonly StoredDocument[] =>
  books.map((book, i) => {
    const title = Array.from(book.title).reverse().join('');
    const { fields, ...document } = documentOf(`x${project}`, { ...book, title }, i);
    return { ...document, fields: { ...fields, project: 'x' } };
  });

const text = (value: Uint8Array): string => new TextDecoder().decode(value);

/**
 * The contract of text search in every read store.
 *
 * @param open creates an empty store; `settle`, called after writes, gives the store to search in if it is another.
 */
export const textSearchContract = (
  name: string,
  open: () => Promise<{ store: ReadStore; settle?: () => Promise<ReadStore> }>,
  { runs = 150 }: { readonly runs?: number } = {},
): void => {
  describe(name, () => {
    let store: ReadStore;
    let reader: ReadStore;
    let settle: (() => Promise<ReadStore>) | undefined;
    let count = 0;
    beforeAll(async () => {
      ({ store, settle } = await open());
      reader = store;
      await store.prepare([books, films, authors]);
    });
    afterAll(async () => {
      if (reader !== store) await reader.close();
      await store.close();
    });

    const put = async (documents: readonly StoredDocument[], into = [books, authors]): Promise<void> => {
      count += 1;
      const writes = into.flatMap((collection) => documents.map((document) => ({ collection, document })));
      const checkpoint = { name: `put ${count}`, from: undefined, to: { logId: 'l', position: 1n } };
      await store.write({ documents: writes, checkpoints: [checkpoint] });
    };

    const find = async (
      collection: Collection,
      condition: Condition,
      { where, ...page }: Query,
    ): Promise<{ keys: string[]; query: Query }> => {
      const terms = [{ condition, column: { field: condition.field, kind: 'text' } as const }];
      const query = await narrowQuery(reader, collection, { ...page, where, terms });
      const keys: string[] = [];
      for (let next = query; ;) {
        const found = await reader.find(collection, next);
        keys.push(...found.elements.map(text));
        if (!found.next) return { keys, query };
        expect(found.elements).toHaveLength(page.limit);
        const { offset: _, ...rest } = next;
        next = { ...rest, after: found.next };
      }
    };

    const inOrder = (documents: readonly StoredDocument[], isUp: boolean): readonly StoredDocument[] =>
      documents.toSorted((a, b) => {
        const [x, y] = [Number(a.fields['at']), Number(b.fields['at'])];
        const order = x - y || (a.key < b.key ? -1 : 1);
        return isUp ? order : -order;
      });

    const cases = fc.record({
      first: shelf,
      later: shelf,
      wanted: fc.oneof(texts(1, 8), texts(3, 4)),
      isUp: fc.boolean(),
      limit: fc.integer({ min: 1, max: 7 }),
      offset: fc.nat(4),
      state: fc.option(fc.nat(1)),
      least: fc.option(fc.nat(9)),
      isByName: fc.boolean(),
    });

    it('finds the documents that contain a text, in order and page by page, whatever the text', async () => {
      const property = fc.asyncProperty(cases, async ({ first, later, wanted, isUp, limit, offset, ...more }) => {
        count += 1;
        const project = `project ${count}`;
        const documents = [...first, ...later].map((book, i) => documentOf(project, book, i));
        await put(documents.slice(0, first.length));
        await put(documents.slice(first.length).toReversed());
        await put(elsewhere(project, first));
        if (settle) reader = await settle();
        const [collection, field] = more.isByName ? [authors, 'name'] : [books, 'at'];
        const where: Condition[] = [{ field: 'project', is: '=', value: project }];
        if (more.state !== null) where.push({ field: 'state', is: '=', value: more.state });
        if (more.least !== null)
          where.push({ field, is: isUp ? '>=' : '<', value: more.isByName ? `n${more.least}` : more.least });
        const fits = ({ fields }: StoredDocument): boolean =>
          String(fields['title']).includes(wanted) &&
          (more.state === null || fields['state'] === more.state) &&
          (more.least === null || (isUp ? Number(fields['at']) >= more.least : Number(fields['at']) < more.least));
        const expected = inOrder(documents, isUp)
          .filter(fits)
          .map(({ key }) => key);
        const orderBy = { field, direction: isUp ? 'ascending' : 'descending' } as const;
        const page: Query = { where, orderBy, limit, ...(offset && { offset }) };
        const contains: Condition = { field: 'title', is: 'contains', value: wanted };
        const { keys, query } = await find(collection, contains, page);
        expect(keys).toEqual(expected.slice(offset));
        expect(query.where.some(({ is }) => is === 'contains all')).toBe(Array.from(wanted).length >= 3);
      });
      await fc.assert(property, { numRuns: runs });
    });

    it('finds documents by a text of 3 to 8 characters in them, where no two have the same sort value', async () => {
      const property = fc.asyncProperty(fc.array(texts(0, 12), { maxLength: 20 }), texts(3, 8), async (all, wanted) => {
        count += 1;
        const project = `films ${count}`;
        const documents = all.map((title, i) => documentOf(project, { title, state: 0, at: 100 * count + i }, i));
        for (const document of documents.toReversed()) await put([document], [films]);
        if (settle) reader = await settle();
        const where: Condition[] = [{ field: 'project', is: '=', value: project }];
        const page: Query = { where, orderBy: { field: 'at', direction: 'ascending' }, limit: 3 };
        const { keys } = await find(films, { field: 'title', is: 'contains', value: wanted }, page);
        const fits = documents.filter(({ fields }) => String(fields['title']).includes(wanted));
        expect(keys).toEqual(fits.map(({ key }) => key));
      });
      await fc.assert(property, { numRuns: runs / 5 });
    });

    it('finds each of the documents that have the same sort value and were written separately', async () => {
      for (const [i, title] of ['qwerty', 'zzzzzzwertzz'].entries())
        await put([documentOf('shared', { title, state: 0, at: 777 }, i)]);
      if (settle) reader = await settle();
      const where: Condition[] = [{ field: 'project', is: '=', value: 'shared' }];
      const page: Query = { where, orderBy: { field: 'at', direction: 'ascending' }, limit: 10 };
      const keysOf = async (value: string): Promise<string[]> =>
        (await find(books, { field: 'title', is: 'contains', value }, page)).keys;
      expect(await keysOf('qwerty')).toEqual(['shared/00']);
      expect(await keysOf('wert')).toEqual(['shared/00', 'shared/01']);
    });

    it('finds the documents that match a pattern by the literal texts in it', async () => {
      const book = (title: string, at: number): Book => ({ title, state: 0, at });
      const found = ['train_model', 'train-model', 'pretrain.models', 'train model train'];
      const others = ['train', 'model train', 'trainmodel', 'TRAIN_MODEL'];
      await put([...found, ...others].map((title, i) => documentOf('patterns', book(title, i), i)));
      if (settle) reader = await settle();
      const where: Condition[] = [{ field: 'project', is: '=', value: 'patterns' }];
      const like: Condition = { field: 'title', is: 'like', pattern: '%train_mo%' };
      const page: Query = { where, orderBy: { field: 'at', direction: 'ascending' }, limit: 2 };
      const { keys, query } = await find(books, like, page);
      expect(keys).toEqual(found.map((_, i) => `patterns/0${i}`));
      expect(query.where).toContainEqual({ field: 'title', is: 'contains all', texts: ['train'] });
    });

    it('finds only once a document that is written twice, and no document after the store is cleared', async () => {
      const documents = ['once more', 'once only'].map((title, i) =>
        documentOf('twice', { title, state: 0, at: i }, i),
      );
      await put(documents);
      await put(documents.map((document) => ({ ...document, position: 2n })));
      if (settle) reader = await settle();
      const where: Condition[] = [{ field: 'project', is: '=', value: 'twice' }];
      const page = { where, orderBy: { field: 'at', direction: 'ascending' }, limit: 10 } as const;
      const contains: Condition = { field: 'title', is: 'contains', value: 'once' };
      expect((await find(books, contains, page)).keys).toEqual(['twice/00', 'twice/01']);
      if (settle) return; // the run in which the store itself is read tests what clearing does
      await store.clear();
      expect((await find(books, contains, page)).keys).toEqual([]);
      await put(documents.slice(1));
      expect((await find(books, contains, page)).keys).toEqual(['twice/01']);
    });
  });
};
