import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { kindHeadsIn, sharedHead } from '../../services/store/log/head.js';
import { logRows } from '../../services/store/log/rows.js';
import { openForReading, openForWriting, type Database } from '../../services/store/log/schema.js';
import { logWriter } from '../../services/store/log/writer.js';

/** Counts the queries for many rows that are made through a connection from now on. */
const countQueries = (db: Database): (() => number) => {
  const spies: { readonly mock: { readonly calls: readonly unknown[] } }[] = [];
  const prepare = db.prepare.bind(db);
  vi.spyOn(db, 'prepare').mockImplementation((...args) => {
    const statement = prepare(...args);
    spies.push(vi.spyOn(statement, 'all'));
    return statement;
  });
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
};

/** Opens a log as a process does: a writer, and a reader that knows from it the last position of each kind of event. */
const opened = (directory = mkdtempSync(join(tmpdir(), 'kind-heads-'))) => {
  const path = join(directory, 'log.db');
  const heads = kindHeadsIn(sharedHead());
  const { db, head } = openForWriting(path, 'FULL');
  const writer = logWriter(db, { hotTypes: ['NodePhaseReported'], head, kindHeads: heads });
  const record = (category: string, ...types: readonly string[]): number => {
    const events = types.map((type) => ({ id: randomBytes(16), type, data: new Uint8Array(), metadata: '{}' }));
    writer.commit([{ stream: `${category}-${randomUUID()}`, expected: 'no-stream', events }]);
    return writer.head().position;
  };
  const { db: reading } = openForReading(path);
  const queries = countQueries(reading);
  return { directory, record, rows: logRows(reading, heads), queries };
};

/** A filter that matches all kinds (a kind is an event type in a category) of one category. */
const PROJECTS = { categories: ['project'] };

it('a reader makes no query while none of the kinds that it reads is recorded', () => {
  const { record, rows, queries } = opened();
  record('project', 'ProjectRegistered');
  const first = record('execution', 'ExecutionCreated');
  expect(rows.logPage({ after: 0, upTo: first }, PROJECTS, 10).events).toHaveLength(1);

  const before = queries();
  expect(before).toBeGreaterThan(0);
  let head = first;
  for (let i = 0; i < 20; i += 1) head = record('execution', 'ExecutionCreated');
  const page = rows.logPage({ after: first, upTo: head }, PROJECTS, 10);
  expect(page).toEqual({ events: [], position: BigInt(head) });
  expect(rows.wantsHot(PROJECTS)).toBe(false); // no NodePhaseReported, the frequent type of this log
  expect(queries()).toBe(before);

  const next = record('project', 'ProjectRegistered');
  expect(rows.logPage({ after: head, upTo: next }, PROJECTS, 10).events).toHaveLength(1);
});

it('a reader finds a kind that is recorded for the first time, and any number of kinds', () => {
  const { record, rows } = opened();
  const kinds = 1_100; // from the 1,000th on, all kinds share one head
  const head = record('project', ...Array.from({ length: kinds }, (_, i) => `Type${i}`));
  expect(rows.logPage({ after: 0, upTo: head }, PROJECTS, 2_000).events).toHaveLength(kinds);
  const last = record('project', `Type${kinds - 1}`);
  expect(rows.logPage({ after: head, upTo: last }, PROJECTS, 10).events).toHaveLength(1);
  const fresh = record('project', 'Fresh');
  expect(rows.logPage({ after: last, upTo: fresh }, PROJECTS, 10).events).toHaveLength(1);
});

it('a reader of a log that is opened again finds what was recorded before', () => {
  const { directory, record } = opened();
  record('project', 'ProjectRegistered');
  const head = record('execution', 'ExecutionCreated');
  const { rows } = opened(directory);
  expect(rows.logPage({ after: 0, upTo: head }, PROJECTS, 10).events).toHaveLength(1);
});
