import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { streamName } from '../../services/kernel/stream.js';
import { flightlog } from '../support/processes/command.js';
import { newEvent, openEmptyLog, report } from '../support/streams/filled-log.js';
import { until } from '../support/until.js';

/** The folder that is exported to. */
const exportFolder = mkdtempSync(join(tmpdir(), 'flightlog-follow-'));
let directory: string;
let store: EventStore;

beforeAll(async () => {
  ({ directory, store } = await openEmptyLog());
  await report(store, 1, 1); // ten events, at positions 1 to 10
});
afterAll(async () => {
  await store.close();
  for (const each of [exportFolder, directory]) rmSync(each, { recursive: true });
});

const exporting = (...flags: readonly string[]) =>
  flightlog([
    ...['export', 'files', '--data', directory, '--event-store', 'embedded:', '--payload-store', 'file:'],
    ...['--to', exportFolder, '--format', 'jsonl', ...flags],
  ]);

/** The positions of the exported events, in the order of the files. */
const positions = (): readonly number[] =>
  readdirSync(exportFolder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.jsonl'))
    .sort()
    .flatMap((path) => readFileSync(join(exportFolder, path), 'utf8').trim().split('\n'))
    .map((line) => (JSON.parse(line) as { position: number }).position);

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1);

/** Waits until the events up to a position are exported. */
const untilExported = (last: number) =>
  until(
    () => Promise.resolve(positions()),
    (found) => found.length >= last,
  );

it('an export with --follow writes what is recorded until SIGTERM, and keeps a second export out', async () => {
  const following = exporting('--follow', '--every', '50ms');
  expect(await untilExported(10)).toEqual(upTo(10));
  await report(store, 1, 1);
  expect(await untilExported(20)).toEqual(upTo(20));

  const second = await exporting().ended;
  expect(second.code).not.toBe(0);
  expect(second.stderr).toContain(`export ${exportFolder} is being written by another process`);

  following.child.kill('SIGTERM');
  const { code, stdout, stderr } = await following.ended;
  expect([code, stderr]).toEqual([0, '']);
  const runs = stdout.trim().split('\n');
  expect(runs.map((line) => (JSON.parse(line) as { events: number }).events)).toEqual([10, 10]);
  expect(positions()).toEqual(upTo(20));
});

it('an export stops at an unknown category, unless the category is named as foreign or is one of the event store', async () => {
  await store.append(streamName('inventory', ['hammer']), 'any', [newEvent('HammerStored', Buffer.from('{}'))]);
  await store.append(streamName('$persistentsubscription', ['$all::billing-checkpoint']), 'any', [
    newEvent('$SubscriptionCheckpoint', Buffer.from('{}')),
  ]);
  await report(store, 1, 1);
  const refused = await exporting().ended;
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('stream inventory-hammer at position 21: this release does not know its category');
  expect(positions()).toEqual(upTo(20));

  const { code, stdout } = await exporting('--foreign', 'inventory').ended;
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { events: 10, parked: 0, position: 32 }]);
});
