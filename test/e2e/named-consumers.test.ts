import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ErrorType,
  EventStoreDBClient,
  jsonEvent,
  PARK,
  persistentSubscriptionToAllSettingsFromDefaults as toAll,
  persistentSubscriptionToStreamSettingsFromDefaults,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKOUT } from '../support/processes/command.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

/** The number of times that a consumer disconnects and that the server is killed; 50 make a thorough run. */
const KILLS = Number(process.env['FLIGHTLOG_TEST_CONSUMER_KILLS'] ?? 2);

/** The events between two kills. */
const EVENTS = 20;

const directory = mkdtempSync(join(tmpdir(), 'flightlog-named-consumers-'));
let server: LogServer;
let client: EventStoreDBClient;

const connect = (): EventStoreDBClient =>
  EventStoreDBClient.connectionString(`esdb://${server.address}?tls=false&keepAliveInterval=-1`);

beforeAll(async () => {
  server = await startLogServer(join(directory, 'log'));
  client = connect();
});
afterAll(async () => {
  await client.dispose();
  await server.stop();
  rmSync(directory, { recursive: true });
});

const restart = async (): Promise<void> => {
  await server.restart();
  await client.dispose();
  client = connect();
};

const settings = persistentSubscriptionToStreamSettingsFromDefaults;

/** Appends the events with the numbers `from` to `to` - 1. */
const fill = (stream: string, from: number, to: number) =>
  client.appendToStream(
    stream,
    Array.from({ length: to - from }, (_, at) => jsonEvent({ type: 'Counted', data: { n: from + at } })),
  );

describe('a consumer group', () => {
  it(
    'sends no event again whose acknowledgement is durable, and loses none, though consumers leave and the server is killed',
    async () => {
      const stream = 'killed-1';
      await client.createPersistentSubscriptionToStream(
        stream,
        'group',
        settings({ startFrom: START, maxRetryCount: 1_000 }),
      );
      /** Events whose acknowledgement is durable, because another event came after it on the same connection. */
      const durable = new Set<number>();
      const repeated: number[] = [];
      const received = new Set<number>();

      /** Consumes until `enough` events have come, and then disconnects without an answer to the last one. */
      const consume = async (enough: number): Promise<void> => {
        const own = connect();
        const subscription = own.subscribeToPersistentSubscriptionToStream(stream, 'group', { bufferSize: 1 });
        let count = 0;
        let before: number | undefined;
        try {
          for await (const resolved of subscription) {
            const { n } = resolved.event!.data as { n: number };
            if (before !== undefined) durable.add(before);
            if (durable.has(n)) repeated.push(n);
            received.add(n);
            count += 1;
            if (count === enough) break;
            await subscription.ack(resolved);
            before = n;
          }
        } catch {
          // the server was killed
        }
        await own.dispose().catch(() => undefined);
      };

      for (let kill = 0; kill < KILLS; kill += 1) {
        await fill(stream, kill * EVENTS, (kill + 1) * EVENTS);
        await consume(1 + (kill % 7)); // disconnects between receipt and acknowledgement
        const enough = durable.size + 1 + (kill % 5);
        const cut = consume(Infinity);
        await until(
          () => Promise.resolve(durable.size),
          (size) => size >= enough,
        );
        await restart();
        await cut;
      }
      const last = consume(Infinity);
      await until(
        async () => (await client.getPersistentSubscriptionToStreamInfo(stream, 'group')).stats,
        (stats) => stats.lastCheckpointedEventRevision === BigInt(KILLS * EVENTS - 1),
      );
      expect(repeated).toEqual([]);
      expect([...received].sort((a, b) => a - b)).toEqual(Array.from({ length: KILLS * EVENTS }, (_, n) => n));
      await client.deletePersistentSubscriptionToStream(stream, 'group');
      await last;
    },
    60_000 + KILLS * 5_000,
  );

  it('has its parked events and retries after the server was killed', async () => {
    const stream = 'parked-1';
    await fill(stream, 0, 3);
    await client.createPersistentSubscriptionToStream(stream, 'group', settings({ startFrom: START }));
    const subscription = client.subscribeToPersistentSubscriptionToStream(stream, 'group');
    const disconnected = new Promise((resolve) => subscription.on('error', resolve));
    subscription.on('data', (resolved) => {
      const { n } = resolved.event!.data as { n: number };
      if (n < 2) void subscription.nack(PARK, 'too small', resolved);
    });
    const info = async () => (await client.getPersistentSubscriptionToStreamInfo(stream, 'group')).stats;
    await until(info, ({ parkedMessageCount }) => parkedMessageCount === 2n);
    await restart();
    await disconnected;
    expect(await info()).toMatchObject({ parkedMessageCount: 2n, retryBufferCount: 1 });
    const metrics = await (await fetch(`${server.http()}/metrics`)).text();
    const valueOf = (name: string) =>
      metrics.split(`flightlog_consumer_group_${name}{stream="parked-1",group="group"} `)[1]?.split('\n', 1)[0];
    expect(['lag', 'in_flight', 'parked'].map(valueOf)).toEqual(['1', '0', '2']);
    await client.replayParkedMessagesToStream(stream, 'group', { stopAt: 1 });
    expect(await info()).toMatchObject({ parkedMessageCount: 1n, retryBufferCount: 2 });
  });
});

it('a deleted group ends the subscriptions of its consumers', async () => {
  await client.createPersistentSubscriptionToStream('deleted-1', 'group', settings({ startFrom: START }));
  const subscription = client.subscribeToPersistentSubscriptionToStream('deleted-1', 'group');
  const ended = new Promise<unknown>((resolve) => subscription.on('error', resolve));
  await new Promise((resolve) => subscription.once('confirmation', () => resolve(undefined)));
  await client.deletePersistentSubscriptionToStream('deleted-1', 'group');
  expect(await ended).toMatchObject({ type: ErrorType.PERSISTENT_SUBSCRIPTION_DROPPED });
});

it('a control plane serves the consumer groups of its event store', async () => {
  const eventStore = `esdb://${server.address}?tls=false`;
  const { ready, stop } = await startServerProcess({
    data: join(directory, 'plane'),
    args: ['--event-store', eventStore, '--eventstore-mode', 'write'],
  });
  const planeClient = EventStoreDBClient.connectionString(`esdb://${ready.eventstore}?tls=false&keepAliveInterval=-1`);
  await planeClient.createPersistentSubscriptionToAll('identities', toAll({ startFrom: START }), {
    filter: streamNameFilter({ prefixes: ['flightlog-identity'] }),
  });
  const again = planeClient.createPersistentSubscriptionToAll('identities', toAll({ startFrom: START }));
  await expect(again).rejects.toMatchObject({
    type: ErrorType.PERSISTENT_SUBSCRIPTION_EXISTS,
    groupName: 'identities',
  });
  expect((await client.listPersistentSubscriptionsToAll()).map(({ groupName }) => groupName)).toContain('identities');
  const subscription = planeClient.subscribeToPersistentSubscriptionToAll('identities');
  for await (const resolved of subscription) {
    expect(resolved.event).toMatchObject({ isJson: true, data: { logId: expect.any(String) as string } });
    await subscription.ack(resolved);
    break;
  }
  await until(
    () => client.getPersistentSubscriptionToAllInfo('identities'),
    ({ stats }) => stats.lastCheckpointedEventPosition !== undefined,
  );
  const deleted = planeClient.subscribeToPersistentSubscriptionToAll('identities');
  const ended = new Promise<unknown>((resolve) => deleted.on('error', resolve));
  await new Promise((resolve) => deleted.once('confirmation', () => resolve(undefined)));
  await client.deletePersistentSubscriptionToAll('identities');
  expect(await ended).toMatchObject({ type: ErrorType.PERSISTENT_SUBSCRIPTION_DROPPED });
  await planeClient.dispose();
  await stop();
});

it('the consumer in docs/consumers.md prints the events and acknowledges them', async () => {
  const text = readFileSync(join(CHECKOUT, 'docs/consumers.md'), 'utf8');
  const [, script] = /^## Consumer groups \(persistent subscriptions\)$.*?^```js\n(.*?)^```$/msu.exec(text) ?? [];
  const file = join(CHECKOUT, 'dist', 'named-consumer.mjs');
  writeFileSync(file, script!);
  await fill('execution-shown', 0, 3);
  const env = { ...process.env, FLIGHTLOG_EVENTSTORE: server.address };
  const consumer = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  consumer.stdout.setEncoding('utf8').on('data', (part: string) => (printed += part));
  const info = async () =>
    (await client.listAllPersistentSubscriptions()).find(({ groupName }) => groupName === 'billing');
  await until(
    async () => ({ lines: printed.split('\n').length - 1, group: await info() }),
    ({ lines, group }) => lines === 3 && group?.stats.totalInFlightMessages === 0,
  );
  expect(printed).toBe('Counted execution-shown\n'.repeat(3));
  consumer.kill();
  rmSync(file);
});
