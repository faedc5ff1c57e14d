import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { NodeClient } from '../../../services/store/eventstore/nodes/node-client.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
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

it('a read that a node has lost fails after 10 s, and a live subscription waits on', async () => {
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
  await vi.advanceTimersByTimeAsync(9_999);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual([[false, new StoreUnavailable('the event store has not answered a read for 10 s')]]);
});
