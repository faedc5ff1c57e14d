import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Column, Columns } from '../../../projections/query/columns.js';
import { filtersOf } from '../../../projections/query/filters/filter.js';
import { narrowQuery } from '../../../projections/query/narrowed-query.js';
import type { Collection, Condition, Query } from '../../../projections/runtime/read-store.js';
import { type SqliteReadStore, sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { tightened } from '../../../projections/store/tightened-query.js';

/** The number of documents, and of those on a page. */
const COUNT = 2_000;
const LIMIT = 10;

const runs: Collection = {
  name: 'runs',
  version: 1,
  fields: {
    project: 'text',
    name: 'text',
    mode: 'integer',
    phase: 'text',
    at: 'integer',
    delay: 'integer',
    started: 'integer',
    lasted: 'integer',
    class: 'integer',
  },
  indexes: [
    ['project', 'at'],
    ['project', 'mode', 'at'],
    ['project', 'phase', 'at'],
    ['project', 'class', 'at'],
    ['project', 'delay'],
  ],
  carried: { 'project.class.at': ['lasted'] },
  values: { phase: ['FAILED', 'QUEUED'] },
  searched: [{ field: 'name', scope: ['project'], sort: 'at', isSortUnique: true }],
};

const number = (field: string): Column => ({ field, kind: 'number' });
const columns: Columns = {
  entity: 'execution',
  shortName: 'e',
  byName: {
    name: { field: 'name', kind: 'text' },
    mode: number('mode'),
    phase: { field: 'phase', kind: 'text' },
    at: number('at'),
    started: { ...number('started'), follows: { field: 'at', by: 'delay' } },
    lasted: { ...number('lasted'), classes: { field: 'class', classOf: (value) => (value >= 1_000 ? 1 : 0) } },
  },
};

/** One document of 500 differs from the rest. */
const fieldsOf = (at: number) => {
  const isRare = at % 500 === 7;
  return {
    project: 'p',
    name: isRare ? `needle-${at}` : `straw-${at}`,
    mode: isRare ? 2 : 1,
    phase: isRare ? 'FAILED' : 'QUEUED',
    at,
    delay: at % 3,
    started: at + (at % 3),
    lasted: isRare ? 5_000 : 10,
    class: isRare ? 1 : 0,
  };
};

const project: Condition = { field: 'project', is: '=', value: 'p' };
const newest: Query = { where: [project], orderBy: { field: 'at', direction: 'descending' }, limit: LIMIT };

describe('the keys and documents that a page examines', () => {
  let store: SqliteReadStore;
  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-costs-'));
    store = sqliteReadStore({ directory, mode: 'read-write' });
    await store.prepare([runs]);
    const documents = Array.from({ length: COUNT }, (_, at) => ({
      collection: runs,
      document: { key: `k${at}`, position: 1n, fields: fieldsOf(at), response: Buffer.from(String(at)) },
    }));
    const to = { logId: 'l', position: 1n };
    await store.write({ documents, checkpoints: [{ name: 'all', from: undefined, to }] });
  });
  afterAll(() => store.close());

  /** The number of keys and documents that the store examines for a page. */
  const costOf = async (query: Query): Promise<number> => {
    const { keys, documents } = await store.examined(runs, query);
    return keys + documents;
  };
  const found = async (query: Query) =>
    (await store.find(runs, query)).elements.map((each) => Buffer.from(each).toString());

  it.each([
    ['values that are found one by one', 'ne(mode,1)'],
    ['values that are known', 'ne(phase,QUEUED)'],
    ['a range by its class', 'gt(lasted,999)'],
    ['a range of what follows the order', 'lt(started,12)'],
    ['the trigrams of a text', 'contains(name,needle)'],
  ])('are fewer than 50 when a filter is narrowed to %s: %s', async (_, filters) => {
    const { terms } = filtersOf(columns, filters);
    const plain = { ...newest, where: [project, ...terms.map(({ condition }) => condition)] };
    const query = await narrowQuery(store, runs, { ...newest, terms });
    expect(await costOf(plain)).toBeGreaterThan(COUNT);
    expect(await costOf(query)).toBeLessThan(5 * LIMIT);
    expect(await found(query)).toEqual(await found(plain));
  });

  it('do not include a query for the values of a field that are known', async () => {
    const { terms } = filtersOf(columns, 'ne(phase,QUEUED)');
    const finder = { findDistinct: () => Promise.reject(new Error('asked')) };
    const { where } = await narrowQuery(finder, runs, { ...newest, terms });
    expect(where).toContainEqual({ field: 'phase', is: 'in', values: ['FAILED'] });
  });

  it.each([
    ['descending', '<=', 1_999, 20],
    ['ascending', '>=', 0, 1_980],
  ] as const)('are fewer than 30 for a page of 10 far behind a bound: %s', async (direction, is, value, after) => {
    const query: Query = {
      ...newest,
      where: [project, { field: 'at', is, value }],
      orderBy: { field: 'at', direction },
      after: { value: after, key: `k${after}` },
    };
    expect(await found(query)).toHaveLength(LIMIT);
    expect(await costOf(query)).toBeLessThan(3 * LIMIT);
    expect(tightened(query)).not.toEqual(query);
  });

  it('are fewer than 30 for a page of 10 behind the tighter of two bounds', async () => {
    const where: Condition[] = [project, { field: 'at', is: '<=', value: 1_999 }, { field: 'at', is: '<', value: 50 }];
    expect((await found({ ...newest, where }))[0]).toBe('49');
    expect(await costOf({ ...newest, where })).toBeLessThan(3 * LIMIT);
  });
});
