import fc from 'fast-check';
import { expect } from 'vitest';

import { executionCollection, executionColumns } from '../../../projections/executions/columns.js';
import { durationClass } from '../../../projections/query/duration-class.js';
import { type Listed, listPage } from '../../../projections/query/list-query.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';

/** In microseconds. */
const SECOND = 1_000_000;

/**
 * The values that an execution is made of; `at`, `delay` and `lasted` are seconds, and `pick` chooses its other fields.
 */
type Seed = {
  readonly at: number;
  readonly delay: number | null;
  readonly lasted: number | null;
  readonly pick: number;
};

const seeds = fc.record({
  at: fc.integer({ min: 0, max: 40 }),
  delay: fc.option(fc.integer({ min: -2, max: 5 })),
  lasted: fc.option(fc.integer({ min: 0, max: 300 })),
  pick: fc.nat(11),
});

/** The stored document of an execution. */
const documentOf = (project: string, key: string, { at, delay, lasted, pick }: Seed): StoredDocument => ({
  key,
  position: 1n,
  response: Buffer.from(key),
  fields: {
    project,
    domain: 'd',
    name: `n${pick}`,
    state: 0,
    phase: ['QUEUED', 'RUNNING', 'FAILED'][pick % 3] ?? null,
    mode: pick % 4,
    launch_plan_name: pick % 5 === 0 ? null : `plan-${pick % 2}`,
    created_at: at * SECOND,
    started_at: delay === null ? null : (at + delay) * SECOND,
    start_delay: delay === null ? null : delay * SECOND,
    duration: lasted === null ? null : lasted * SECOND,
    duration_class: lasted === null ? null : durationClass(lasted * SECOND),
  },
});

/** A function that stores documents of executions. */
const writer = (store: ReadStore): ((documents: readonly StoredDocument[]) => Promise<void>) => {
  let writes = 0;
  return async (documents) => {
    writes += 1;
    await store.write({
      documents: documents.map((document) => ({ collection: executionCollection, document })),
      checkpoints: [{ name: String(writes), from: undefined, to: { logId: 'l', position: 1n } }],
    });
  };
};

/** Filters, and the documents that each keeps. The duration 30.0000005 is half a microsecond above 30 s. */
const FILTERS: readonly (readonly [string, (fields: StoredDocument['fields']) => boolean])[] = [
  ['', () => true],
  ['value_in(phase,QUEUED;FAILED)', ({ phase }) => phase !== 'RUNNING'],
  ['ne(mode,1)', ({ mode }) => mode !== 1],
  ['value_not_in(mode,1;2)', ({ mode }) => mode !== 1 && mode !== 2],
  ['eq(launch_plan.name,plan-1)', (fields) => fields['launch_plan_name'] === 'plan-1'],
  ['gt(duration,60)', ({ duration }) => Number(duration ?? 0) > 60 * SECOND],
  ['lt(duration,60)', ({ duration }) => duration !== null && Number(duration) < 60 * SECOND],
  ['lt(duration,30.0000005)', ({ duration }) => duration !== null && Number(duration) <= 30 * SECOND],
  [
    'lte(duration,100)+gte(duration,3)',
    ({ duration: d }) => d !== null && Number(d) <= 100 * SECOND && Number(d) >= 3 * SECOND,
  ],
  ['gte(started_at,1970-01-01T00:00:20Z)', (fields) => Number(fields['started_at'] ?? 0) >= 20 * SECOND],
  ['lt(started_at,1970-01-01T00:00:20Z)', (f) => f['started_at'] !== null && Number(f['started_at']) < 20 * SECOND],
  ['gt(created_at,1970-01-01T00:00:10Z)', (fields) => Number(fields['created_at']) > 10 * SECOND],
  ['lte(created_at,1970-01-01T00:00:30Z)+ne(mode,0)', (f) => Number(f['created_at']) <= 30 * SECOND && f['mode'] !== 0],
  ['contains(name,1)', ({ name }) => String(name).includes('1')],
];

const ORDERS = ['created_at', 'started_at', 'duration', 'name', 'phase', 'mode', 'updated_at', 'closure'];

/**
 * The number of runs of the property, the most documents at the start of a run, and the smallest limit of a page. Tests
 * on a database server use fewer runs, fewer documents and larger pages, because a server is slower than a file.
 */
export type PagingRuns = { readonly runs: number; readonly documents: number; readonly leastLimit: number };

/**
 * Asserts that paging returns no document twice, and every document exactly once that was there at the start and that
 * the filter matches, with any filter and any order, while others are added.
 */
export const assertPagesOnce = async (store: ReadStore, { runs, documents, leastLimit }: PagingRuns): Promise<void> => {
  await store.prepare([executionCollection]);
  const put = writer(store);
  let run = 0;
  const property = fc.asyncProperty(
    fc.tuple(fc.array(seeds, { minLength: 1, maxLength: documents }), fc.array(seeds, { maxLength: 12 })),
    fc.constantFrom(...FILTERS),
    fc.record({ key: fc.constantFrom(...ORDERS), direction: fc.constantFrom(0, 1) }),
    fc.integer({ min: leastLimit, max: 9 }),
    async ([first, later], [filters, keeps], sortBy, limit) => {
      run += 1;
      const project = `p${run}`;
      // The keys of documents that are there at the start have `/a`, those of later ones `/b`.
      const there = first.map((seed, i) => documentOf(project, `${project}/a${i}`, seed));
      const added = later.map((seed, i) => documentOf(project, `${project}/b${i}`, seed));
      await put(there);
      const order = { field: 'created_at', direction: 'descending' } as const;
      const listed: Listed = { rpc: 'L', store, collection: executionCollection, columns: executionColumns, order };
      const where = [
        { field: 'project', is: '=', value: project },
        { field: 'domain', is: '=', value: 'd' },
        { field: 'state', is: '=', value: 0 },
      ] as const;
      const seen: string[] = [];
      for (let token = '', more = true; more; more = token !== '') {
        const page = await listPage(listed, { where }, { limit, token, filters, sortBy });
        seen.push(...page.elements.map((element) => Buffer.from(element).toString()));
        token = page.token;
        const next = added.pop();
        if (next) await put([next]);
      }
      expect(new Set(seen).size).toBe(seen.length);
      const expected = there.filter(({ fields }) => keeps(fields)).map(({ key }) => key);
      expect(seen.filter((key) => key.includes('/a')).sort()).toEqual(expected.sort());
    },
  );
  await fc.assert(property, { numRuns: runs });
};
