import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { NodeClient } from '../../../services/store/eventstore/nodes/node-client.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
import { eventsOf, retryUnavailable } from '../../../services/store/eventstore/read-pages.js';
import { eventRead } from '../../../services/store/eventstore/wire/event-read.js';

const open: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const close of open.splice(0)) close();
});

/** Starts a node that takes calls and answers none; returns a client of it. */
const silentNode = async (): Promise<NodeClient> => {
  const server = createServer();
  server.on('stream', (stream) => stream.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = nodeSettings(`esdb://127.0.0.1:${port}?tls=false`);
  const client = new NodeClient({ host: '127.0.0.1', port }, settings, () => undefined);
  open.push(
    () => client.abandon(),
    () => server.close(),
  );
  return client;
};

it('a read that a node has lost fails after 4 s, and a live subscription waits on', async () => {
  const client = await silentNode();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended: unknown[] = [];
  const wait = (isLive: boolean): void => {
    eventRead(client, { from: 'start', isSubscription: isLive, isLive })
      .next()
      .catch((error: unknown) => ended.push([isLive, error]));
  };
  wait(false);
  wait(true);
  await vi.advanceTimersByTimeAsync(3_999);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual([[false, new StoreUnavailable('the event store has not answered a read for 4 s')]]);
});

it('a read whose every attempt a node loses fails 10 s after the first', async () => {
  const client = await silentNode();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const connection = {
    client: () => Promise.resolve(client),
    abandon: () => undefined,
    close: () => Promise.resolve(),
  };
  let attempts = 0;
  let failure: unknown;
  const pages = retryUnavailable(() => {
    attempts += 1;
    return eventsOf(connection, { from: 'start' });
  });
  void pages.next().catch((error: unknown) => (failure = error));
  await vi.advanceTimersByTimeAsync(9_999);
  expect({ attempts, failure }).toEqual({ attempts: 3, failure: undefined });
  await vi.advanceTimersByTimeAsync(1);
  expect(failure).toEqual(new StoreUnavailable('the event store has not answered a read for 10 s'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(attempts).toBe(3);
});
