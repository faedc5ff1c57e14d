import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { listMessage } from '../../projections/query/list-message.js';
import { type Listed, listNames, listPage, type ListRequest } from '../../projections/query/list-query.js';
import type { Collection, Query, ReadStore } from '../../projections/runtime/read-store.js';
import { servingReadStore } from '../../projections/store/sqlite/serving-read-store.js';
import type { SqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import { ABSENT, ASKED, type ListShape, executions, FEW, SOME } from '../support/views/list-shapes.js';
import { storeOfMany } from '../support/views/many-documents.js';

/** Elements of a page. */
const LIMIT = 25;
/** The size of each stored answer. */
const ANSWER_BYTES = 600;
const MEBIBYTE = 1_048_576;

/** The most keys of an index, and the most documents, that a page may examine. */
const MAX_KEYS = 5 * LIMIT;
const MAX_DOCUMENTS = 2 * LIMIT;

type Page = { readonly elements: number; readonly token: string };
type Costs = { readonly keys: number; readonly documents: number };

describe.each([200, 100_000])('a page of a list of %i executions, or half as many other entities,', (count) => {
  let store: SqliteReadStore;
  let directory: string;
  beforeAll(async () => {
    ({ store, directory } = await storeOfMany(count, new Uint8Array(ANSWER_BYTES)));
  }, 600_000);
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Runs a request on a store. */
  const page = async (
    onStore: ReadStore,
    { scope, order, direction = 'descending', isOfNames, ...list }: ListShape,
    request: Partial<ListRequest>,
  ): Promise<Page> => {
    const listed: Listed = { rpc: 'List', store: onStore, ...list, order: { field: order, direction } };
    const asked: ListRequest = { limit: LIMIT, token: '', filters: '', ...request };
    if (isOfNames) {
      const { values, token } = await listNames(listed, scope, asked);
      return { elements: values.length, token };
    }
    const { elements, token } = await listPage(listed, scope, asked);
    return { elements: elements.length, token };
  };

  /** Runs a request, and adds up the keys and documents that its queries of the store examined. */
  const countedPage = async (list: ListShape, request: Partial<ListRequest>): Promise<Page & Costs> => {
    const costs = { keys: 0, documents: 0 };
    const counted = async (collection: Collection, query: Query, method: 'find' | 'findDistinct'): Promise<void> => {
      const { keys, documents } = await store.examined(collection, query, method);
      costs.keys += keys;
      costs.documents += documents;
    };
    const counting = {
      ...store,
      find: async (collection: Collection, query: Query) => {
        await counted(collection, query, 'find');
        return store.find(collection, query);
      },
      findDistinct: async (collection: Collection, query: Query) => {
        await counted(collection, query, 'findDistinct');
        return store.findDistinct(collection, query);
      },
    };
    return { ...(await page(counting, list, request)), ...costs };
  };

  const expectCheap = ({ keys, documents }: Costs): void => {
    expect(keys).toBeLessThanOrEqual(MAX_KEYS);
    expect(documents).toBeLessThanOrEqual(MAX_DOCUMENTS);
  };

  it.each(ASKED)(
    `examines at most ${MAX_KEYS} keys and ${MAX_DOCUMENTS} documents: %s`,
    async (name, list, requestOf) => {
      const first = await countedPage(list, requestOf(count));
      expect(first.elements === 0).toBe(ABSENT.has(name));
      expectCheap(first);
    },
  );

  it.runIf(count > 500 * LIMIT).each(ASKED.filter(([name]) => !FEW.has(name)))(
    'examines no more as a late page, mostly the 500th: %s',
    async (name, list, requestOf) => {
      const before = SOME.has(name) ? 48 : 498; // the searches that match every twentieth have fewer pages
      const { token, elements } = await page(store, list, { ...requestOf(count), token: String(before * LIMIT) });
      expect(elements).toBe(LIMIT);
      const late = await countedPage(list, { ...requestOf(count), token });
      expect(late.elements).toBe(LIMIT);
      expectCheap(late);
    },
  );

  it('of everything takes at most twice the memory of its answer, plus 64 MiB', async () => {
    const { order, scope, ...list } = executions;
    const serving = servingReadStore({ directory });
    const listed: Listed = { rpc: 'List', store: serving, ...list, order: { field: order, direction: 'descending' } };
    const request = { limit: 4_294_967_295, token: '', filters: '' }; // the largest limit, 2^32 − 1
    await listPage(listed, scope, { ...request, limit: 200 }); // starts the thread
    const before = process.memoryUsage().rss;
    let most = before;
    const sampling = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 2);
    const { elements, token } = await listPage(listed, scope, request);
    const message = listMessage({ elements, token });
    most = Math.max(most, process.memoryUsage().rss);
    clearInterval(sampling);
    expect([elements.length, token]).toEqual([count, '']);
    expect(message.length).toBeGreaterThan(count * ANSWER_BYTES);
    expect((most - before) / MEBIBYTE).toBeLessThan((2 * message.length) / MEBIBYTE + 64);
    await serving.close();
  });
});
