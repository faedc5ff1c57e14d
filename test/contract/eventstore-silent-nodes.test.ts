import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { type Cluster, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { newEvent } from '../support/streams/filled-log.js';

const event = () => newEvent('Counted', Buffer.from(randomUUID()));
const newStream = () => streamName('counted', [randomUUID()]);

describe('a cluster whose leader is cut off from the other nodes, or answers pings and nothing else', () => {
  let cluster: Cluster;
  let store: EventStore;
  beforeAll(async () => {
    cluster = await startEventstoreCluster();
    await cluster.leader();
    store = await eventstoreEventStore({ url: cluster.url() });
  });
  afterAll(async () => {
    await store.close();
    await cluster.close();
  });

  it('gets appends at its next leader when the old one is cut off', async () => {
    const stream = newStream();
    await store.append(stream, 'no-stream', [event()]);
    const leader = await cluster.leader();
    await leader.isolate();
    expect((await store.append(stream, 0n, [event()])).revision).toBe(1n);
    await leader.rejoin();
  });

  it('fails reads while the leader is silent, and accepts appends when it answers again', async () => {
    const leader = await cluster.leader();
    await store.head();
    await leader.mute();
    await expect(store.head()).rejects.toThrow('the event store cannot be read');
    await leader.speak();
    const stream = newStream();
    expect((await store.append(stream, 'no-stream', [event()])).revision).toBe(0n);
  });
});
