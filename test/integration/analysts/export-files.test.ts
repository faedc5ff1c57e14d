import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { NewEvent, RecordedEvent } from '../../../services/kernel/event.js';
import { metadataOf } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type Ended, flightlog, start } from '../../support/processes/command.js';
import { allEvents, executionStream, nodeReported, openEmptyLog, report } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';
import { isRequired, python, READ } from './interpreter.js';

/** Numbers of events and of kills: `FLIGHTLOG_TEST_EXPORT=1000000,10` exports a million events with ten kills. */
const [EVENTS = 2_000, KILLS = 2] = (process.env['FLIGHTLOG_TEST_EXPORT'] ?? '2000,2').split(',').map(Number);
/** Events of one append. */
const PER_BATCH = 50;
/** Streams that the events are divided among. */
const STREAMS = 20;
const LIMIT_MS = 60_000 + EVENTS;

/** The event with another time of recording. */
const recordedAt = (event: NewEvent, recordedAtMs: number): NewEvent => ({
  ...event,
  metadata: JSON.stringify({ ...metadataOf(event), recordedAtMs }),
});

/** Counts and extremes over all exported events, as the program `read.py` prints them. */
type Found = {
  readonly duckdb: Readonly<Record<string, number>>;
  readonly pandas?: Readonly<Record<string, unknown>>;
};

/** Reads the files of an export with DuckDB, and Parquet files with pandas too. */
const readBack = async (folder: string, format: string): Promise<Found> => {
  const { code, stdout, stderr } = await start(python ?? '', [READ, folder, format]).ended;
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Found;
};

/** The JSON that an export prints when it has succeeded. */
const summary = ({ code, stdout, stderr }: Ended): Readonly<Record<string, number>> => {
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, number>;
};

it.skipIf(!isRequired)('the environment with DuckDB and pandas is there, when it is required', () => {
  expect(python).toBeDefined();
});

describe.skipIf(python === undefined)('the files of an export', () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-analysts-'));
  let directory: string;
  let store: EventStore;
  let events: readonly RecordedEvent[];

  /** The last millisecond of a day, and the first of the next. */
  const DAYS = [Date.parse('2026-03-01T23:59:59.999Z'), Date.parse('2026-03-02T00:00:00.000Z')] as const;

  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
    const texts = ['', 'Grüße, 世界 "quoted" \\ 🚀', 'x'.repeat(5_000)];
    const days = DAYS.flatMap((ms) => texts.map((text, at) => recordedAt(nodeReported('days', at, text), ms)));
    await store.append(executionStream('days'), 'no-stream', days);
    await report(store, STREAMS, Math.ceil(EVENTS / STREAMS / PER_BATCH), PER_BATCH);
    events = await allEvents(store);
  }, LIMIT_MS);
  afterAll(async () => {
    await store.close();
    for (const each of [folder, directory]) rmSync(each, { recursive: true });
  });

  /** Starts an export of the whole log. */
  const run = (to: string, format: string, perFile: number) =>
    flightlog([
      ...['export', 'files', '--data', directory, '--event-store', 'embedded:', '--payload-store', 'file:'],
      ...['--to', to, '--format', format, '--events-per-file', String(perFile)],
    ]);

  /** The figures that DuckDB and pandas must find; `phases` counts the events whose body has the phase of the event. */
  const expected = () => ({
    events: events.length,
    positions: events.length,
    phases: events.length,
    earliest: DAYS[0],
    latest: events.reduce((latest, event) => Math.max(latest, metadataOf(event).recordedAtMs), 0),
  });

  it(
    'are read by DuckDB: each event once, with the phase of its body, in the folder of its date',
    { timeout: LIMIT_MS },
    async () => {
      const to = join(folder, 'lines');
      expect(summary(await run(to, 'jsonl', 1_000).ended)).toMatchObject({ events: events.length });
      const { duckdb } = await readBack(to, 'jsonl');
      expect(duckdb).toMatchObject({ ...expected(), first: 1, last: events.length, attempts: 0, misplaced: 0 });
    },
  );

  it(`have each event once after ${KILLS} kills, in DuckDB and pandas`, { timeout: 2 * LIMIT_MS }, async () => {
    const to = join(folder, 'killed');
    const files = (): number =>
      existsSync(to)
        ? readdirSync(to, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.parquet')).length
        : 0;
    const perFile = Math.max(10, Math.floor(events.length / KILLS / 10));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = files();
      const { child } = run(to, 'parquet', perFile);
      const exited = once(child, 'exit');
      // The export is then most likely at its next file.
      await until(
        () => Promise.resolve(files()),
        (count) => count > before + (kill % 3),
        LIMIT_MS,
      );
      child.kill('SIGKILL');
      expect(await exited).toEqual([null, 'SIGKILL']);
    }
    const rest = summary(await run(to, 'parquet', perFile).ended);
    expect(rest).toMatchObject({ position: events.length });
    expect(rest['events']).toBeLessThan(events.length);
    expect(summary(await run(to, 'parquet', perFile).ended)).toMatchObject({ files: 0, events: 0 });

    const { duckdb, pandas } = await readBack(to, 'parquet');
    expect(duckdb).toMatchObject({ ...expected(), first: 1, last: events.length, attempts: 0, misplaced: 0 });
    expect(pandas).toMatchObject({
      ...expected(),
      dates: expect.arrayContaining(['2026-03-01', '2026-03-02']) as unknown,
    });
  });
});
