import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { type Cluster, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { newEvent } from '../support/filled-log.js';

const event = () => newEvent('Counted', Buffer.from(randomUUID()));
const fresh = () => streamName('counted', [randomUUID()]);

describe('a cluster whose leader answers pings and nothing else', () => {
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

  it('has the appends go on at the next leader where the leader is cut off from the others', async () => {
    const stream = fresh();
    await store.append(stream, 'no-stream', [event()]);
    const leader = await cluster.leader();
    await leader.isolate();
    expect((await store.append(stream, 0n, [event()])).revision).toBe(1n);
    await leader.rejoin();
  });

  it('answers what is read of a leader that says nothing, and goes on when it speaks', async () => {
    const leader = await cluster.leader();
    await store.head();
    await leader.mute();
    await expect(store.head()).rejects.toThrow('the event store cannot be read');
    await leader.speak();
    const stream = fresh();
    expect((await store.append(stream, 'no-stream', [event()])).revision).toBe(0n);
  });
});
