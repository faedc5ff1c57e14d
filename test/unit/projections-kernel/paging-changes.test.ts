import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { executionCollection, executionColumns } from '../../../projections/executions/columns.js';
import { durationClass } from '../../../projections/query/duration-class.js';
import { type Listed, listPage } from '../../../projections/query/list-query.js';
import { pairsText, type ReadStore, type StoredDocument } from '../../../projections/runtime/read-store.js';
import { servingReadStore } from '../../../projections/store/sqlite/serving-read-store.js';
import { sqliteReadStore, type SqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';

type Fields = StoredDocument['fields'];
/** True for the fields of an execution that a filter matches. */
type Keeps = (fields: Fields) => boolean;

/** Microseconds. */
const SECOND = 1_000_000;
const PHASES = ['QUEUED', 'RUNNING', 'FAILED', 'SUCCEEDED', 'ABORTED', 'ABORTING'];

const directory = mkdtempSync(join(tmpdir(), 'flightlog-changes-'));
let writer: SqliteReadStore;
let reader: ReadStore;

/** An execution to be created `at` this second; `pick` chooses its other fields. */
const seeds = fc.record({ at: fc.integer({ min: 0, max: 6 }), pick: fc.nat(60) });
type Seed = typeof seeds extends fc.Arbitrary<infer Value> ? Value : never;

/** The fields of an execution that was just created. */
const created = (project: string, index: number, { at, pick }: Seed): Fields => ({
  project,
  domain: 'd',
  name: `n${index}`,
  recorded: index,
  state: 0,
  phase: 'QUEUED',
  mode: pick % 3,
  user: `u${pick % 2}`,
  launch_plan_name: pick % 5 === 0 ? null : `plan-${pick % 2}`,
  created_at: at * SECOND,
  updated_at: at * SECOND,
  tags: pick % 4 === 0 ? pairsText([['team', 'post']]) : null,
});

/** A change of an execution; `lasted` and `delay` are in seconds. */
const changes = fc.oneof(
  fc.record({ sets: fc.constant('phase' as const), to: fc.constantFrom(...PHASES), lasted: fc.nat(200) }),
  fc.record({ sets: fc.constant('start' as const), delay: fc.nat(5) }),
  fc.record({ sets: fc.constant('state' as const), to: fc.constantFrom(0, 1) }),
);
type Change = typeof changes extends fc.Arbitrary<infer Value> ? Value : never;

/** The number in a field, 0 where it has none. */
const numberIn = (fields: Fields, field: string): number => Number(fields[field] ?? 0);

/** The fields that the end of an execution sets, after `lasted` seconds; none when it has ended before. */
const durationFields = (fields: Fields, lasted: number): Fields =>
  typeof fields['duration'] === 'number'
    ? {}
    : { duration: lasted * SECOND, duration_class: durationClass(lasted * SECOND) };

/** The fields of an execution after a change. */
const changed = (fields: Fields, change: Change): Fields => {
  const updated = { ...fields, updated_at: numberIn(fields, 'updated_at') + SECOND };
  if (change.sets === 'state') return { ...updated, state: change.to };
  if (change.sets === 'start') {
    if (typeof fields['started_at'] === 'number') return updated;
    const start_delay = change.delay * SECOND;
    return { ...updated, start_delay, started_at: numberIn(fields, 'created_at') + start_delay };
  }
  const isEnd = ['FAILED', 'SUCCEEDED', 'ABORTED'].includes(change.to);
  const error_message = change.to === 'FAILED' ? 'out of memory' : null;
  return { ...updated, phase: change.to, error_message, ...(isEnd && durationFields(fields, change.lasted)) };
};

const isText = (field: string, keeps: (text: string) => boolean): Keeps => {
  return ({ [field]: value }) => typeof value === 'string' && keeps(value);
};
const isNumber = (field: string, keeps: (value: number) => boolean): Keeps => {
  return ({ [field]: value }) => typeof value === 'number' && keeps(value);
};

const isActive = isNumber('state', (state) => state === 0);
/** Lists leave out archived executions, whose state is 1, where no filter names the state. */
const activeAnd =
  (keeps: Keeps): Keeps =>
  (fields) =>
    isActive(fields) && keeps(fields);

/** Filters, each with the rule that says which executions it keeps. */
const FILTERS: readonly (readonly [string, Keeps])[] = [
  ['', isActive],
  ['eq(phase,RUNNING)', activeAnd(isText('phase', (phase) => phase === 'RUNNING'))],
  ['ne(phase,RUNNING)', activeAnd(isText('phase', (phase) => phase !== 'RUNNING'))],
  ['not_like(phase,RUNNING)', activeAnd(isText('phase', (phase) => phase !== 'RUNNING'))],
  ['value_in(phase,SUCCEEDED;ABORTED)', activeAnd(isText('phase', (p) => p === 'SUCCEEDED' || p === 'ABORTED'))],
  ['value_in(phase,QUEUED;RUNNING;ABORTED)', activeAnd(isText('phase', (p) => /^(?:Q|R|ABORTED)/u.test(p)))],
  ['value_not_in(phase,SUCCEEDED;ABORTED)', activeAnd(isText('phase', (p) => p !== 'SUCCEEDED' && p !== 'ABORTED'))],
  ['gt(phase,FAILED)', activeAnd(isText('phase', (phase) => phase > 'FAILED'))],
  ['contains(phase,ED)', activeAnd(isText('phase', (phase) => phase.includes('ED')))],
  ['ne(phase,FAILED)+ne(mode,1)', activeAnd((f) => f['phase'] !== 'FAILED' && f['mode'] !== 1)],
  ['ne(state,2)', isNumber('state', () => true)],
  ['value_in(state,0;1)+eq(phase,QUEUED)', isText('phase', (phase) => phase === 'QUEUED')],
  ['lt(state,2)+value_in(mode,0;2)', isNumber('mode', (mode) => mode !== 1)],
  ['gt(duration,20)', activeAnd(isNumber('duration', (duration) => duration > 20 * SECOND))],
  [
    'lte(duration,100)+ne(phase,ABORTED)',
    activeAnd((f) => isNumber('duration', (d) => d <= 100 * SECOND)(f) && f['phase'] !== 'ABORTED'),
  ],
  ['gte(started_at,1970-01-01T00:00:03Z)', activeAnd(isNumber('started_at', (start) => start >= 3 * SECOND))],
  ['lt(started_at,1970-01-01T00:00:05Z)', activeAnd(isNumber('started_at', (start) => start < 5 * SECOND))],
  [
    'gte(created_at,1970-01-01T00:00:02Z)+ne(phase,QUEUED)',
    activeAnd((f) => numberIn(f, 'created_at') >= 2 * SECOND && f['phase'] !== 'QUEUED'),
  ],
  ['lt(updated_at,1970-01-01T00:00:06Z)', activeAnd(isNumber('updated_at', (updated) => updated < 6 * SECOND))],
  [
    'eq(launch_plan.name,plan-1)+value_in(phase,RUNNING;FAILED)',
    activeAnd((f) => f['launch_plan_name'] === 'plan-1' && ['RUNNING', 'FAILED'].includes(String(f['phase']))),
  ],
  ['eq(user,u1)', activeAnd(isText('user', (user) => user === 'u1'))],
  ['contains(error_message,memory)', activeAnd(isText('error_message', () => true))],
  ['contains(error_message,memory)+ne(phase,ABORTED)', activeAnd(isText('error_message', () => true))],
  ['eq(execution_tag.key,team)', activeAnd(isText('tags', () => true))],
  ['eq(label.team,post)', activeAnd(isText('tags', () => true))],
];

/** The stored field of each sort key. */
const KEYS: Readonly<Record<string, string>> = {
  created_at: 'created_at',
  updated_at: 'updated_at',
  started_at: 'started_at',
  duration: 'duration',
  phase: 'phase',
  mode: 'mode',
  id: 'recorded',
  execution_name: 'name',
};

/** Executions, with all states that each has had since `begin` was called. */
const populationOf = (project: string) => {
  const lives = new Map<string, Fields[]>();
  let position = 1n;
  /** Writes an execution to the view, and notes its fields in `lives`. */
  const put = async (key: string, fields: Fields): Promise<void> => {
    position += 1n;
    lives.set(key, [...(lives.get(key) ?? []), fields]);
    const document = { key, position, fields, response: Buffer.from(key) };
    await writer.write({
      documents: [{ collection: executionCollection, document }],
      checkpoints: [{ name: `${project} ${position}`, from: undefined, to: { logId: 'l', position } }],
    });
  };
  return {
    lives,
    add: (seed: Seed) => put(`${project}/${lives.size}`, created(project, lives.size, seed)),
    change: async (index: number, change: Change) => {
      const [key, life] = [...lives][index % lives.size]!;
      await put(key, changed(life.at(-1)!, change));
    },
    /** Forgets earlier states: only the current ones count. */
    begin: () => lives.forEach((life, key) => lives.set(key, life.slice(-1))),
  };
};

beforeAll(async () => {
  writer = sqliteReadStore({ directory, mode: 'read-write' });
  await writer.prepare([executionCollection]);
  reader = servingReadStore({ directory, queryLimitMs: 10_000 });
});
afterAll(async () => {
  await reader.close();
  await writer.close();
});

it('pages have once each execution that matches throughout with one sort key, and none that never does', async () => {
  let run = 0;
  const compared = { once: 0, never: 0 };
  const property = fc.asyncProperty(
    fc.record({
      first: fc.array(seeds, { minLength: 2, maxLength: 25 }),
      before: fc.array(fc.tuple(fc.nat(100), changes), { maxLength: 60 }),
      during: fc.array(fc.tuple(fc.nat(100), changes), { maxLength: 60 }),
    }),
    fc.constantFrom(...FILTERS),
    fc.record({ key: fc.constantFrom(...Object.keys(KEYS)), direction: fc.constantFrom(0, 1) }),
    fc.integer({ min: 1, max: 7 }),
    async ({ first, before, during }, [filters, keeps], sortBy, limit) => {
      run += 1;
      const project = `p${run}`;
      const population = populationOf(project);
      for (const seed of first) await population.add(seed);
      for (const [index, change] of before) await population.change(index, change);
      population.begin();
      const happens = during.values();
      const more = first.values();
      // The changes are made one by one, each before the next query; in every third run, executions are added, too.
      const meanwhile = async (): Promise<void> => {
        const next = happens.next();
        if (next.value) await population.change(...next.value);
        const added = run % 3 === 0 ? more.next().value : undefined;
        if (added) await population.add(added);
      };
      const store: ReadStore = {
        ...reader,
        find: async (...asked) => (await meanwhile(), reader.find(...asked)),
        findDistinct: async (...asked) => (await meanwhile(), reader.findDistinct(...asked)),
      };
      const order = { field: 'created_at', direction: 'descending' } as const;
      const listed: Listed = { rpc: 'L', store, collection: executionCollection, columns: executionColumns, order };
      const scope = {
        where: Object.entries({ project, domain: 'd' }).map(([field, value]) => ({ field, is: '=' as const, value })),
        unlessNamed: [{ field: 'state', is: '=' as const, value: 0 }],
      };
      const seen: string[] = [];
      for (let token = '', isMore = true; isMore; isMore = token !== '') {
        const page = await listPage(listed, scope, { limit, token, filters, sortBy });
        seen.push(...page.elements.map((element) => Buffer.from(element).toString()));
        token = page.token;
      }
      const times = (key: string): number => seen.filter((each) => each === key).length;
      for (const [key, life] of [...population.lives].slice(0, first.length)) {
        const keepsSortKey = new Set(life.map((fields) => fields[KEYS[sortBy.key]!] ?? null)).size === 1;
        const [isAlways, isNever] = [keepsSortKey && life.every(keeps), !life.some(keeps)];
        if (isAlways) expect([key, times(key)]).toEqual([key, 1]);
        else if (keepsSortKey) expect(times(key), key).toBeLessThanOrEqual(1);
        if (isNever) expect([key, times(key)]).toEqual([key, 0]);
        compared.once += Number(isAlways);
        compared.never += Number(isNever);
      }
    },
  );
  await fc.assert(property, { numRuns: 100 });
  expect(compared.once).toBeGreaterThan(100);
  expect(compared.never).toBeGreaterThan(100);
}, 60_000);
