import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewEvent } from '../../services/kernel/event.js';
import { Fault } from '../../services/kernel/fault.js';
import type { EventStore, Subscription } from '../../services/kernel/ports/event-store.js';
import { sha256 } from '../../services/kernel/encoding/hash.js';
import { streamName, type StreamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { type Cluster, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { until } from '../support/until.js';

/** Makes the same event for the same stream and text, so that an append without an answer can be sent again. */
const event = (stream: StreamName, text: string): NewEvent => ({
  id: sha256(stream + text).subarray(0, 16),
  type: 'Counted',
  data: Buffer.from(text),
  metadata: JSON.stringify({ recordedAtMs: 1, actor: '', commandId: text, schema: 1 }),
});

describe('a store that prefers a follower, in a cluster whose followers show nothing new', () => {
  let cluster: Cluster;
  let store: EventStore;
  const open: Subscription[] = [];

  beforeAll(async () => {
    cluster = await startEventstoreCluster();
    store = await eventstoreEventStore({ url: cluster.url({ preference: 'follower' }) });
    for (const node of await cluster.followers()) await node.lag('frozen');
  });
  afterAll(async () => {
    for (const each of open) await each.close();
    await store.close();
    await cluster.close();
  });

  const textsOf = async (stream: StreamName): Promise<string[]> => {
    const texts: string[] = [];
    for await (const page of store.readStream(stream))
      texts.push(...page.map(({ data }) => Buffer.from(data).toString()));
    return texts;
  };

  it('answers with all that was acknowledged, and resumes a subscription without a gap when the leader is killed', async () => {
    const stream = streamName('counted', [randomUUID()]);
    const seen: string[] = [];
    /** For each page, whether all events up to its position had been delivered. */
    const isComplete: boolean[] = [];
    const reached = new Set<string>();
    open.push(
      store.subscribe({ after: 0n, filter: { categories: ['counted'] } }, ({ events, position }) => {
        seen.push(...events.map(({ data }) => Buffer.from(data).toString()));
        for (const [text, at] of positions) if (at <= position) reached.add(text);
        isComplete.push([...reached].every((text) => seen.includes(text)));
      }),
    );
    const positions = new Map<string, bigint>();
    const add = async (text: string): Promise<void> => {
      const { position } = await store.append(stream, 'any', [event(stream, text)]);
      positions.set(text, position);
      expect(await store.head()).toBeGreaterThanOrEqual(position);
      expect(await textsOf(stream)).toEqual([...positions.keys()]);
    };
    for (const text of ['one', 'two', 'three']) await add(text);
    await (await cluster.leader()).kill();
    const retryOnFault = (error: unknown): false => {
      if (!(error instanceof Fault)) throw error; // an answer without an acknowledged event
      return false;
    };
    for (const text of ['four', 'five']) await until(() => add(text).then(() => true, retryOnFault), Boolean);
    await until(
      () => Promise.resolve(seen),
      (texts) => texts.includes('five'),
    );
    expect(seen).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(isComplete).not.toContain(false);
  });
});
