import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { frameOf } from '../../../services/kernel/encoding/grpc-frame.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { NodeClient } from '../../../services/store/eventstore/nodes/node-client.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
import { readLogUpTo } from '../../../services/store/eventstore/log-reads.js';
import { readLogBackwards } from '../../../services/store/eventstore/read-backwards.js';
import { eventsOf, retryRead } from '../../../services/store/eventstore/read-pages.js';
import { eventRead } from '../../../services/store/eventstore/wire/event-read.js';

/** Functions that close what a test has opened. */
const closers: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const close of closers.splice(0)) close();
});

/** Starts a node of an event store; returns a client of it. */
const startNode = async (onCall: (stream: ServerHttp2Stream) => void): Promise<NodeClient> => {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    onCall(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = nodeSettings(`esdb://127.0.0.1:${port}?tls=false`);
  const client = new NodeClient({ host: '127.0.0.1', port }, settings, () => undefined);
  closers.push(
    () => client.abandon(),
    () => server.close(),
  );
  return client;
};

/** Starts a node that takes calls and answers none. */
const silentNode = (): Promise<NodeClient> => startNode(() => undefined);

/** A connection that always has this client. */
const connectionOf = (client: NodeClient) => ({
  client: () => Promise.resolve(client),
  abandon: () => undefined,
  close: () => Promise.resolve(),
});

/** `ReadResp` with `caught_up`: an answer that is no event. */
const CAUGHT_UP = Uint8Array.of(0x42, 0);

/** Has the node send something, and leaves real time for it to arrive. */
const received = async (send: () => void): Promise<void> => {
  for (let turns = 0; turns < 50; turns += 1) {
    if (turns === 25) send();
    await new Promise((resolve) => setImmediate(resolve));
  }
};

it('a read that a node does not answer fails after 4 s, and a live subscription waits on', async () => {
  const client = await silentNode();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended: unknown[] = [];
  const startRead = (isLive: boolean): void => {
    eventRead(client, { from: 'start', isSubscription: isLive, isLive })
      .next()
      .catch((error: unknown) => ended.push([isLive, error]));
  };
  startRead(false);
  startRead(true);
  await vi.advanceTimersByTimeAsync(3_999);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual([[false, new StoreUnavailable('the event store has not answered a read for 4 s')]]);
});

it('a read that a node never answers is tried twice and fails within 10 s', async () => {
  const client = await silentNode();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let attempts = 0;
  let failure: unknown;
  const pages = retryRead(() => {
    attempts += 1;
    return eventsOf(connectionOf(client), { from: 'start' });
  });
  void pages.next().catch((error: unknown) => (failure = error));
  await vi.advanceTimersByTimeAsync(10_000);
  expect({ attempts, failure }).toEqual({
    attempts: 2,
    failure: new StoreUnavailable('the event store has not answered a read for 4 s'),
  });
});

it.each([
  ['forwards', (client: NodeClient) => readLogUpTo(connectionOf(client), { after: 5n }, 10n)],
  ['backwards', (client: NodeClient) => readLogBackwards(connectionOf(client), { before: 5n })],
] as const)(
  'a read of the log %s that a node never answers fails because the store is unavailable',
  async (_, read) => {
    const client = await silentNode();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    let failure: unknown;
    void read(client)
      .next()
      .catch((error: unknown) => (failure = error));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failure).toEqual(new StoreUnavailable('the event store has not answered a read for 4 s'));
  },
);

it('a read goes on while answers without an event come, and fails within 10 s after the last answer', async () => {
  let answer = (): void => undefined;
  const node = await startNode((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    answer = () => void stream.write(frameOf(CAUGHT_UP));
  });
  let attempts = 0;
  let outcome: unknown = 'reading';
  const pages = retryRead(() => {
    attempts += 1;
    return eventsOf(connectionOf(node), { from: 'start' });
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  pages.next().then(
    () => (outcome = 'ended'),
    (error: unknown) => (outcome = error),
  );
  for (let seconds = 0; seconds < 30; seconds += 3) {
    await received(() => answer());
    await vi.advanceTimersByTimeAsync(3_000);
  }
  expect({ attempts, outcome }).toEqual({ attempts: 1, outcome: 'reading' });
  await vi.advanceTimersByTimeAsync(7_000);
  expect(outcome).toEqual(new StoreUnavailable('the event store has not answered a read for 10 s'));
});
