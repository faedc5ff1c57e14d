import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { newEvent } from '../support/streams/filled-log.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { until } from '../support/until.js';

const event = () => newEvent('Counted', Buffer.from(randomUUID()));
const newStream = () => streamName('counted', [randomUUID()]);

/** An address at which nothing listens. */
const NOWHERE = '127.0.0.1:1';

/** Longer than reads wait for a node: two seconds from its loss on. */
const AWAY_MS = 3_000;

describe('a cluster of which no node can be found for seconds', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-nodes-away-'));
  let node: LogServer;
  /** Cuts off the node, which keeps running: starting it again might take longer than appends wait. */
  let network: Proxy;
  let store: EventStore;
  const troubles: unknown[] = [];
  beforeAll(async () => {
    node = await startLogServer(directory);
    network = await startProxy(node.address);
    store = await eventstoreEventStore({
      url: `esdb://${NOWHERE},${network.address}?tls=false`,
      onFailure: (error) => troubles.push(error),
    });
  });
  afterAll(async () => {
    await store.close();
    await network.close();
    await node.stop();
    rmSync(directory, { recursive: true });
  });

  it('fails reads meanwhile, and completes appends and delivers events when it is back', async () => {
    const stream = newStream();
    const sent = Array.from({ length: 3 }, event);
    const delivered: string[] = [];
    const subscription = store.subscribe({ after: await store.head() }, ({ events }) => {
      delivered.push(
        ...events.filter((each) => each.stream === stream).map(({ data }) => Buffer.from(data).toString()),
      );
    });
    await store.append(stream, 'no-stream', [sent[0]!]);
    network.shut();
    const awayUntil = performance.now() + AWAY_MS;
    const appended = store.append(stream, 0n, [sent[1]!]);
    for (let refused = 0; performance.now() < awayUntil; refused += 1) {
      await expect(store.head()).rejects.toBeInstanceOf(StoreUnavailable);
      expect(refused).toBeLessThan(100); // a read fails after a wait, not at once
    }
    network.open();
    expect((await appended).revision).toBe(1n);
    await store.append(stream, 1n, [sent[2]!]);
    await until(
      () => Promise.resolve(delivered.length),
      (count) => count >= sent.length,
    );
    expect(delivered).toEqual(sent.map(({ data }) => Buffer.from(data).toString()));
    expect(troubles.length).toBeGreaterThan(0);
    await subscription.close();
  });
});
