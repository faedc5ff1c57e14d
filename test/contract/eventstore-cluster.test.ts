import { once } from 'node:events';
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  jsonEvent,
  type Position,
  type ResolvedEvent,
  START,
  type StreamingRead,
} from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, type ClusterNode, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { until } from '../support/until.js';

const clients: EventStoreDBClient[] = [];
const clientOf = (node: ClusterNode): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(`esdb://${node.address}?tls=false`);
  clients.push(client);
  return client;
};

const events = (count: number, bytes = 10) =>
  Array.from({ length: count }, () => jsonEvent({ type: 'Counted', data: { text: 'x'.repeat(bytes) } }));

const append = async (
  client: EventStoreDBClient,
  stream: string,
  count = 1,
  requiresLeader = false,
): Promise<bigint> => {
  const { position } = await client.appendToStream(stream, events(count), { requiresLeader });
  return position?.commit ?? 0n;
};

const collected = async (read: StreamingRead<ResolvedEvent>): Promise<readonly ResolvedEvent[]> => {
  const all: ResolvedEvent[] = [];
  for await (const each of read) all.push(each);
  return all;
};

const lastStream = async (client: EventStoreDBClient): Promise<string | undefined> => {
  const [last] = await collected(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }));
  return last?.event?.streamId;
};

const positionAt = (commit: bigint): Position => ({ commit, prepare: commit });

describe('a cluster of nodes that stand in for EventStoreDB', () => {
  let cluster: Cluster;
  let leader: ClusterNode;
  let follower: ClusterNode;
  beforeAll(async () => {
    cluster = await startEventstoreCluster({ restartMs: 100 });
    leader = await cluster.leader();
    follower = (await cluster.followers())[0]!;
  });
  afterAll(async () => {
    for (const client of clients) await client.dispose();
    await cluster.close();
  });

  it('gives out byte offsets as positions, and refuses reads from between two, or backwards from beyond its end', async () => {
    const client = clientOf(leader);
    const first = await append(client, 'offsets-1');
    const second = await append(client, 'offsets-1');
    expect(second - first).toBeGreaterThan(100n); // each event takes more than 100 bytes of the log
    const between = positionAt(first + 1n);
    for (const options of [{ fromPosition: between }, { fromPosition: between, direction: BACKWARDS }] as const)
      await expect(collected(client.readAll(options))).rejects.toThrow('2 UNKNOWN: Unexpected ReadAllResult: Error');
    const beyond = { fromPosition: positionAt(second + 1_000_000n), direction: BACKWARDS } as const;
    await expect(collected(client.readAll(beyond))).rejects.toThrow('2 UNKNOWN: Unexpected ReadAllResult: Error');
    const [error] = (await once(client.subscribeToAll({ fromPosition: between }), 'error')) as [unknown];
    expect(String(error)).toContain('2 UNKNOWN');
  });

  it('has followers that refuse calls which require the leader, name its address, and forward other appends to it', async () => {
    const client = clientOf(follower);
    expect(await append(client, 'forwarded-1')).toBeGreaterThan(0n);
    const port = Number(leader.address.split(':')[1]);
    await expect(append(clientOf(follower), 'forwarded-1', 1, true)).rejects.toMatchObject({
      type: 'not-leader',
      leader: { address: '127.0.0.1', port },
    });
    await expect(collected(client.readAll({ maxCount: 1, requiresLeader: true }))).rejects.toMatchObject({
      type: 'not-leader',
      leader: { address: '127.0.0.1', port },
    });
  });

  it('has followers that lag as long as the test asks', async () => {
    await append(clientOf(leader), 'lagging-1');
    await until(
      () => lastStream(clientOf(follower)),
      (stream) => stream === 'lagging-1',
    );
    await follower.lag('frozen');
    await append(clientOf(leader), 'lagging-2');
    expect(await lastStream(clientOf(leader))).toBe('lagging-2');
    expect(await lastStream(clientOf(follower))).toBe('lagging-1');
    await follower.lag(0); // milliseconds
    await until(
      () => lastStream(clientOf(follower)),
      (stream) => stream === 'lagging-2',
    );
  });

  it('drops a live subscription that leaves too much unread', async () => {
    const client = clientOf(leader);
    const slow = client.subscribeToAll({ fromPosition: START });
    slow.on('data', () => undefined);
    await once(slow, 'caughtUp');
    slow.pause();
    const dropped = once(slow, 'error');
    for (let times = 0; times < 20; times += 1) await client.appendToStream('unread-1', events(50, 1_000));
    slow.resume();
    const [error] = (await dropped) as [unknown];
    expect(String(error)).toContain('Consumer too slow to handle event while live');
  });

  it('is not ready without a majority, and elects a leader once the other nodes are back', async () => {
    const others = cluster.nodes.filter((node) => node !== follower);
    for (const node of others) await node.kill();
    const answered = (): Promise<string> =>
      append(clientOf(follower), 'elections-1').then(
        () => 'written',
        (error: unknown) => String(error),
      );
    await until(answered, (answer) => answer.includes('Server Is Not Ready'));
    for (const node of others) await node.start();
    leader = await cluster.leader();
    expect(await append(clientOf(leader), 'elections-1')).toBeGreaterThan(0n);
  });

  it('has a leader that loses its appends and ends itself when it was cut off from its followers', async () => {
    const before = leader;
    await before.isolate();
    await expect(append(clientOf(before), 'unconfirmed-1')).rejects.toMatchObject({ type: 'deadline-exceeded' });
    leader = await cluster.leader(before);
    await before.rejoin();
    await until(
      () => Promise.resolve(before.endings()),
      (endings) => endings === 1,
    );
    await expect(collected(clientOf(leader).readStream('unconfirmed-1'))).rejects.toMatchObject({
      type: 'stream-not-found',
    });
  });
});
