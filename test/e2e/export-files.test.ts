import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { streamName } from '../../services/kernel/stream.js';
import { flightlog } from '../support/processes/command.js';
import { newEvent, openEmptyLog, report } from '../support/streams/filled-log.js';
import { until } from '../support/until.js';

const place = mkdtempSync(join(tmpdir(), 'flightlog-follow-'));
let directory: string;
let store: EventStore;

beforeAll(async () => {
  ({ directory, store } = await openEmptyLog());
  await report(store, 1, 1);
});
afterAll(async () => {
  await store.close();
  for (const each of [place, directory]) rmSync(each, { recursive: true });
});

const exporting = (...flags: readonly string[]) =>
  flightlog([
    ...['export', 'files', '--data', directory, '--event-store', 'embedded:', '--payload-store', 'file:'],
    ...['--to', place, '--format', 'jsonl', ...flags],
  ]);

const positions = (): readonly number[] =>
  readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.jsonl'))
    .sort()
    .flatMap((path) => readFileSync(join(place, path), 'utf8').trim().split('\n'))
    .map((line) => (JSON.parse(line) as { position: number }).position);

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1);

const exported = (last: number) =>
  until(
    () => Promise.resolve(positions()),
    (found) => found.length >= last,
  );

it('an export with --follow writes what is recorded until SIGTERM, and keeps a second export out', async () => {
  const following = exporting('--follow', '--every', '50ms');
  expect(await exported(10)).toEqual(upTo(10));
  await report(store, 1, 1);
  expect(await exported(20)).toEqual(upTo(20));

  const second = await exporting().ended;
  expect(second.code).not.toBe(0);
  expect(second.stderr).toContain(`export ${place} is being written by another process`);

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
