import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Columns } from '../../../projections/query/columns.js';
import { listMessage } from '../../../projections/query/list-message.js';
import { type Listed, listNames, listPage, type ListRequest } from '../../../projections/query/list-query.js';
import { pageStart, pageToken } from '../../../projections/query/token.js';
import type { Collection } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { ProjectSchema, ProjectsSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { QueryTooSlow } from '../../../services/kernel/fault.js';

const columns: Columns = {
  entity: 'execution',
  shortName: 'e',
  byName: {
    phase: { field: 'phase', kind: 'text' },
    state: { field: 'state', kind: 'number' },
    name: { field: 'name', kind: 'text' },
    started_at: { field: 'startedAt', kind: 'time' },
    duration: { field: 'durationMicros', kind: 'duration' },
    closure: { field: 'closure', kind: 'text', filter: false, sort: false },
    'launch_plan.name': { field: 'launchPlan', kind: 'text' },
  },
};

const refusal = (message: string) => ({ code: 'INVALID_ARGUMENT', message });

describe('tokens', () => {
  const order = { field: 'createdAt', direction: 'descending' } as const;
  const cursors = fc.record({ value: fc.oneof(fc.string(), fc.integer(), fc.constant(null)), key: fc.string() });

  it('are read as the cursor that they were made of', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(pageStart(order, pageToken(order, cursor), 'List')).toEqual({ after: { ...cursor } });
      }),
    );
  });

  it('are never all digits', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(pageToken(order, cursor)).not.toMatch(/^\d*$/u);
      }),
    );
  });

  it('may be decimal offsets, or empty for the first page', () => {
    expect(pageStart(order, '200', 'List')).toEqual({ offset: 200 });
    expect(pageStart(order, '', 'List')).toEqual({});
  });

  it('are refused with more than 2,097,152 characters', () => {
    const cursor = (length: number) => ({ value: 'a'.repeat(length), key: 'k' });
    // A token has 1 character, and 4 for each 3 bytes of `["-createdAt","aaa…","k"]`.
    const longest = 1_572_863 - '["-createdAt","","k"]'.length;
    const token = pageToken(order, cursor(longest));
    expect(token).toHaveLength(2_097_152);
    expect(pageStart(order, token, 'List')).toEqual({ after: cursor(longest) });
    expect(() => pageStart(order, pageToken(order, cursor(longest + 1)), 'List')).toThrow(
      /^invalid pagination token p.{99} for List$/u,
    );
  });

  // `pe30` holds `{}`, and `pWzEsMiwzXQ` holds `[1,2,3]`: neither is a cursor.
  it.each(['-1', '1.5', ' 1', 'x', 'p', 'pe30', 'p!', '9'.repeat(30), 'pWzEsMiwzXQ'])(
    'such as %s are refused',
    (token) => {
      expect(() => pageStart(order, token, 'ListExecutions')).toThrow(
        expect.objectContaining(refusal(`invalid pagination token ${token} for ListExecutions`)),
      );
    },
  );

  it('of another order are refused', () => {
    const token = pageToken({ ...order, direction: 'ascending' }, { value: 1, key: 'a' });
    expect(() => pageStart(order, token, 'List')).toThrow(/invalid pagination token/u);
  });
});

const KEYS = ': the keys are duration, name, phase, started_at, state';

describe('lists', () => {
  const collection: Collection = {
    name: 'runs',
    version: 1,
    fields: { phase: 'text', state: 'integer', name: 'text', startedAt: 'integer', durationMicros: 'integer' },
    indexes: [['startedAt'], ['name']],
  };
  const store = sqliteReadStore({ directory: mkdtempSync(join(tmpdir(), 'flightlog-list-')), mode: 'read-write' });
  const listed: Listed = {
    rpc: 'ListExecutions',
    store,
    collection,
    columns,
    order: { field: 'startedAt', direction: 'descending' },
  };
  const scope = { where: [], unlessNamed: [{ field: 'state', is: '=', value: 0 }] } as const;
  /** A request for the default page, with other fields where they are given. */
  const request = (more: Partial<ListRequest>): ListRequest => ({ limit: 0, token: '', filters: '', ...more });

  beforeAll(async () => {
    await store.prepare([collection]);
    const documents = Array.from({ length: 250 }, (_, run) => ({
      collection,
      document: {
        key: `run ${String(run).padStart(3, '0')}`,
        position: 1n,
        fields: {
          phase: run % 2 ? 'RUNNING' : 'QUEUED',
          state: run < 240 ? 0 : 1,
          name: `n${run % 12}`,
          startedAt: run,
        },
        response: Buffer.from(String(run)),
      },
    }));
    await store.write({ documents, checkpoints: [{ name: 'c', from: undefined, to: { logId: 'l', position: 1n } }] });
  });
  afterAll(() => store.close());

  /** A page, with the numbers of its runs, of which 0 to 239 have the state 0 and 240 to 249 the state 1. */
  const numbers = async (more: Partial<ListRequest>, list = listed) => {
    const page = await listPage(list, scope, request(more));
    return { ...page, numbers: page.elements.map((element) => Number(Buffer.from(element).toString())) };
  };

  it('have 100 elements when the limit is 0, and an opaque token', async () => {
    const page = await numbers({});
    expect(page.numbers).toHaveLength(100);
    expect(page.numbers[0]).toBe(239);
    expect(page.token).not.toMatch(/^\d*$/u);
  });

  it('have everything when a limit of 0 means all', async () => {
    expect((await numbers({}, { ...listed, limitZero: 'all' })).numbers).toHaveLength(240);
  });

  it('go on with an opaque token from a page that an offset reached, to a last page without token', async () => {
    const second = await numbers({ limit: 100, token: '100' });
    expect(second.numbers[0]).toBe(139);
    const third = await numbers({ limit: 40, token: second.token });
    expect(third.numbers[0]).toBe(39);
    expect(third.token).toBe('');
  });

  it('drop a default condition on a field that a filter names', async () => {
    expect((await numbers({ filters: 'eq(state,1)' })).numbers).toHaveLength(10);
  });

  it('apply a condition for unfiltered lists only without a filter', async () => {
    const hidden = { where: [], unlessFiltered: [{ field: 'state', is: '<>', value: 1 }] } as const;
    expect((await listPage(listed, hidden, request({ limit: 300 }))).elements).toHaveLength(240);
    expect((await listPage(listed, hidden, request({ limit: 300, filters: 'ne(name,x)' }))).elements).toHaveLength(250);
  });

  it('sort as asked', async () => {
    expect((await numbers({ sortBy: { key: 'started_at', direction: 1 } })).numbers[0]).toBe(0);
  });

  it.each([
    [{ key: 'nothing', direction: 0 }, `invalid sort key 'nothing'${KEYS}`],
    [{ key: '', direction: 0 }, `invalid sort key ''${KEYS}`],
    [{ key: 'closure', direction: 0 }, `invalid sort key 'closure'${KEYS}`],
    [{ key: 'launch_plan.name', direction: 0 }, `invalid sort key 'launch_plan.name'${KEYS}`],
    [{ key: 'started_at', direction: 2 }, 'invalid sort order specified: 2: 0 is DESCENDING, 1 is ASCENDING'],
  ])('refuse to sort by %o', async (sortBy, message) => {
    await expect(numbers({ sortBy })).rejects.toMatchObject(refusal(message));
  });

  it.each([
    [{ filters: 'contains(name,x)' }, ' with filters contains(name,x)'],
    [{ filters: 'contains(name,x)', token: '5000' }, ' with filters contains(name,x) and this offset'],
    [{ token: '5000' }, ' with this offset'],
    [{ sortBy: { key: 'started_at', direction: 1 } }, " with sort key 'started_at'"],
    [{}, ''],
  ])(
    'that take too long are refused with what they ask for, but an offset is only mentioned: %o',
    async (asked, named) => {
      const slow = { ...store, find: () => Promise.reject(new QueryTooSlow('late')) };
      await expect(numbers(asked, { ...listed, store: slow })).rejects.toMatchObject({
        code: 'DEADLINE_EXCEEDED',
        message: `ListExecutions${named} takes too long: narrow it down`,
      });
    },
  );

  it('of names have each once, page by page', async () => {
    const names: Listed = { ...listed, order: { field: 'name', direction: 'ascending' } };
    const first = await listNames(names, scope, request({ limit: 10 }));
    expect(first.values).toEqual(['n0', 'n1', 'n10', 'n11', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7']);
    const second = await listNames(names, scope, request({ limit: 10, token: first.token }));
    expect(second).toEqual({ values: ['n8', 'n9'], token: '' });
    const descending = await listNames(names, scope, request({ limit: 1, sortBy: { key: 'name', direction: 0 } }));
    expect(descending.values).toEqual(['n9']);
  });

  it.each(['started_at', 'nothing', ''])('of names refuse the sort key %j, and say which they accept', async (key) => {
    const names: Listed = { ...listed, order: { field: 'name', direction: 'ascending' } };
    await expect(listNames(names, scope, request({ sortBy: { key, direction: 0 } }))).rejects.toMatchObject(
      refusal(`invalid sort key '${key}': the keys are name`),
    );
  });
});

it('a list message is the encoding of its elements and its token', () => {
  const projects = ['a', 'b'.repeat(200), ''].map((id) => create(ProjectSchema, { id, name: id }));
  const elements = projects.map((project) => toBinary(ProjectSchema, project));
  for (const token of ['', 'next']) {
    const message = listMessage({ elements, token });
    expect(message).toEqual(toBinary(ProjectsSchema, create(ProjectsSchema, { projects, token })));
    expect(fromBinary(ProjectsSchema, message).token).toBe(token);
  }
});
