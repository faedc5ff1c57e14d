import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Collection, ReadStore } from '../../projections/runtime/read-store.js';
import { servingReadStore } from '../../projections/store/sqlite/serving-read-store.js';
import { sqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import {
  DataDirectoryUnusable,
  PageTooLarge,
  QueryTooSlow,
  StoreUnavailable,
  TooManyQueries,
} from '../../services/kernel/fault.js';
import { readStoreContract } from './read-store.contract.js';

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'flightlog-views-'));

readStoreContract('the SQLite read store', () => {
  const directory = newDirectory();
  return Promise.resolve({
    store: sqliteReadStore({ directory, mode: 'read-write' }),
    reopen: () => Promise.resolve(sqliteReadStore({ directory, mode: 'read-only' })),
  });
});

readStoreContract(
  'the SQLite read store of the serving thread',
  () => {
    const directory = newDirectory();
    return Promise.resolve({
      store: sqliteReadStore({ directory, mode: 'read-write' }),
      reopen: () => Promise.resolve(servingReadStore({ directory })),
    });
  },
  { reads: 'beside' },
);

const things: Collection = { name: 'things', version: 1, fields: { size: 'integer' }, indexes: [['size']] };

const orderBy = { field: 'size', direction: 'ascending' } as const;

const writeThings = async (store: ReadStore, count: number): Promise<void> => {
  await store.prepare([things]);
  const documents = Array.from({ length: count }, (_, i) => ({
    collection: things,
    document: { key: `t${i}`, position: 1n, fields: { size: i }, response: new Uint8Array() },
  }));
  await store.write({ documents, checkpoints: [{ name: 'c', from: undefined, to: { logId: 'l', position: 1n } }] });
};

it('a SQLite read store limits the time of distinct values from a far offset', async () => {
  const store = sqliteReadStore({ directory: newDirectory(), mode: 'read-write', queryLimitMs: 0 });
  await writeThings(store, 1_500);
  const query = { where: [], orderBy, limit: 10 };
  await expect(store.findDistinct(things, { ...query, offset: 1_001 })).rejects.toBeInstanceOf(QueryTooSlow);
  expect((await store.findDistinct(things, { ...query, offset: 10 })).values).toHaveLength(10);
  await store.close();
});

it('a SQLite read store gives up a query that takes longer than its limit', async () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write', queryLimitMs: 0 });
  await writeThings(store, 200);
  const unindexed = store.find(things, { where: [{ field: 'size', is: 'not in', values: [1] }], orderBy, limit: 500 });
  await expect(unindexed).rejects.toBeInstanceOf(QueryTooSlow);
  expect((await store.find(things, { where: [], orderBy, limit: 10 })).elements).toHaveLength(10);
  const serving = servingReadStore({ directory, queryLimitMs: 0 });
  const beside = serving.find(things, { where: [{ field: 'size', is: 'not in', values: [1] }], orderBy, limit: 500 });
  await expect(beside).rejects.toBeInstanceOf(QueryTooSlow);
  const count = serving.countBy(things, { where: [], orderBy, limit: 1 }, 'size');
  await expect(count).rejects.toBeInstanceOf(QueryTooSlow);
  await serving.close();
  await store.close();
});

it('a SQLite read store refuses a pattern that is longer than SQLite accepts as a query that is too slow', async () => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
  await writeThings(store, 1);
  const like = (pattern: string) =>
    store.find(things, { where: [{ field: 'size', is: 'like', pattern }], orderBy, limit: 1 });
  // SQLite accepts patterns of at most 50,000 bytes; the character has three bytes in UTF-8.
  await expect(like(`_${'漢'.repeat(17_000)}`)).rejects.toBeInstanceOf(QueryTooSlow);
  expect((await like(`_${'漢'.repeat(16_000)}`)).elements).toEqual([]);
  await store.close();
});

it('a SQLite read store refuses a page that is too large as such, also after its time limit', async () => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write', queryLimitMs: 0 });
  await writeThings(store, 1);
  const refuse = (): never => {
    const startedAt = performance.now();
    while (performance.now() - startedAt < 2); // longer than the limit
    throw new PageTooLarge('the page is too large');
  };
  const found = store.findEach(things, { where: [], orderBy, limit: 10 }, refuse);
  await expect(found).rejects.toBeInstanceOf(PageTooLarge);
  await store.close();
});

it('the serving read store answers 500 concurrent calls for long pages', async () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  await writeThings(store, 200);
  const serving = servingReadStore({ directory, queryWaitMs: 60_000 });
  const asked = Array.from({ length: 500 }, () => serving.find(things, { where: [], orderBy, limit: 1_000 }));
  expect(new Set((await Promise.all(asked)).map(({ elements }) => elements.length))).toEqual(new Set([200]));
  await serving.close();
  await store.close();
});

it('the serving read store finds a short list without its query thread, also for a long page', async () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  await writeThings(store, 100);
  const serving = servingReadStore({ directory, queryWaitMs: 0 }); // a query that needs the thread is refused
  const found = await serving.find(things, { where: [], orderBy, limit: 1_000 });
  expect(found.elements).toHaveLength(100);
  expect(found.next).toBeUndefined();
  await serving.close();
  await store.close();
});

it('the serving read store refuses queries that have waited too long for its thread', async () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  await writeThings(store, 200);
  const serving = servingReadStore({ directory, queryWaitMs: 0 });
  const late = serving.find(things, { where: [], orderBy, limit: 1_000 });
  await expect(late).rejects.toBeInstanceOf(TooManyQueries);
  await serving.close();
  await store.close();
});

it('a SQLite read store refuses views with other fields, and asks to rebuild them', async () => {
  const directory = newDirectory();
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  await store.prepare([things]);
  await store.close();
  const next = sqliteReadStore({ directory, mode: 'read-write' });
  const prepared = next.prepare([{ ...things, fields: { size: 'integer', color: 'text' } }]);
  await expect(prepared).rejects.toThrow(/things.*rebuild the views/u);
  await next.close();
});

it('a SQLite read store refuses damaged views', () => {
  const directory = newDirectory();
  writeFileSync(join(directory, 'views.db'), 'not a database, but long enough to be taken for one '.repeat(100));
  expect(() => sqliteReadStore({ directory, mode: 'read-write' })).toThrow(DataDirectoryUnusable);
});

it('a SQLite read store cannot be opened for reading when there is none', () => {
  expect(() => sqliteReadStore({ directory: newDirectory(), mode: 'read-only' })).toThrow(StoreUnavailable);
});
