import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { similarReports, NO_REVISION, addReport, type Reports } from '../../../services/execution/state/reports.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { creation, id, node, task, workflow } from './reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

describe('the reports of an entity', () => {
  /** The last two differ only beyond their lower 32 bits. */
  const seconds = fc.constantFrom(0n, 1n, -1n, 1_700_000_000n, 1_700_000_000n + (1n << 32n));
  const report = fc.record({
    entity: fc.nat(2),
    phase: fc.nat(3),
    phaseVersion: fc.nat(2),
    occurredAt: fc.record({ seconds, nanos: fc.nat(1) }),
    isReport: fc.boolean(),
  });

  it('are found by phase, version and time, whatever was recorded between them', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(report, { minLength: 20, maxLength: 60 }), fc.nat(30), (all, from) => {
        const state: Reports = { reports: [] };
        /** The revision of the last report of each entity. */
        const last = [NO_REVISION, NO_REVISION, NO_REVISION];
        for (const [revision, each] of all.entries()) {
          if (!each.isReport) continue;
          addReport(state, revision, last[each.entity]!, each);
          last[each.entity] = revision;
        }
        const keyOf = ({ entity, phase, phaseVersion, occurredAt: at }: (typeof all)[number]) =>
          [entity, phase, phaseVersion, at.seconds, at.nanos].join();
        for (const wanted of all) {
          const equal = all.flatMap((each, revision) =>
            each.isReport && revision >= from && keyOf(each) === keyOf(wanted) ? [BigInt(revision)] : [],
          );
          expect(similarReports(state, { last: last[wanted.entity]!, from }, wanted)).toEqual(equal);
          compared += equal.length;
        }
      }),
      { numRuns: 200 }, // these compare about 2,200 reports in all
    );
    expect(compared).toBeGreaterThan(1_000);
  });
});

describe('events that an engine sends again', () => {
  let directory: string;
  let store: EventStore;
  /** The number of events read from streams. */
  let read: number;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-repeats-'));
    const opened = await sqliteEventStore({ directory });
    read = 0;
    store = {
      ...opened,
      async *readStream(...asked) {
        for await (const page of opened.readStream(...asked)) {
          read += page.length;
          yield page;
        }
      },
    };
  });

  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Opens new sessions, as a process does at its start. Gives the function that handles a command. */
  const openRun = () => {
    const payloads = filePayloadStore({ directory });
    const sessions = openSessions({ store, payloads, now: Date.now });
    const aggregate = executionAggregate({ payloads });
    let commands = 0;
    return (command: ExecutionCommand) =>
      sessions.handle(aggregate, executionStream(id), command, { actor: '', commandId: `command-${commands++}` });
  };

  /** The reports of 150 nodes with a task each. */
  const reports = Array.from({ length: 150 }, (_, at) => `n${at}`).flatMap((name) => [
    node('QUEUED', { node: name, second: 1 }),
    node('RUNNING', { node: name, second: 2 }),
    task('RUNNING', { node: name, second: 3 }),
    task('RUNNING', { node: name, second: 4, version: 1 }),
    task('SUCCEEDED', { node: name, second: 5 }),
    node('SUCCEEDED', { node: name, second: 6 }),
  ]);

  it('cost the reading of one event each, whatever their phase', async () => {
    const run = openRun();
    await run(creation);
    await run(workflow('RUNNING'));
    for (const outcome of await Promise.all(reports.map(run))) expect(outcome.kind).toBe('accepted');
    expect(read).toBe(0);
    for (const outcome of await Promise.all([...reports].reverse().map(run))) expect(outcome.kind).toBe('refused');
    expect(read).toBe(reports.length);
  });

  it('are recognized after a restart, with one reading of the stream and one of each event', async () => {
    const before = openRun();
    await before(creation);
    await Promise.all(reports.map(before));
    read = 0;
    const outcomes = await Promise.all(reports.map(openRun()));
    expect(outcomes.every((each) => each.kind === 'refused' && each.refusal.kind === 'phase-recorded')).toBe(true);
    expect(read).toBe(1 + 2 * reports.length);
  });

  it('are refused also while the append of their first delivery is in flight', async () => {
    const run = openRun();
    await run(creation);
    const first = reports.slice(0, 60);
    const outcomes = await Promise.all([...first, ...first].map(run));
    expect(outcomes.map(({ kind }) => kind)).toEqual([...first.map(() => 'accepted'), ...first.map(() => 'refused')]);
    expect(read).toBe(first.length);
  });
});
