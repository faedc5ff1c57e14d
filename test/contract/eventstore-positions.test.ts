import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewEvent, RecordedEvent } from '../../services/kernel/event.js';
import type { EventStore, LogPage } from '../../services/kernel/ports/event-store.js';
import { sha256 } from '../../services/kernel/encoding/hash.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import type { Appending } from '../support/clients/appending-thread.js';
import { type Cluster, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { until } from '../support/until.js';

const event = (text: string, bytes = 0): NewEvent => ({
  id: sha256(text + randomUUID()).subarray(0, 16),
  type: 'Counted',
  data: Buffer.from(text.padEnd(bytes)),
  metadata: JSON.stringify({ recordedAtMs: 1, actor: '', commandId: text, schema: 1 }),
});

const textOf = ({ data }: RecordedEvent): string => Buffer.from(data).toString().trimEnd();
const collect = async <Item>(pages: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const page of pages) found.push(page);
  return found;
};
const textsIn = (pages: readonly LogPage[]): string[] => pages.flatMap(({ events }) => events.map(textOf));

describe('an event store whose positions are byte offsets', () => {
  let cluster: Cluster;
  let store: EventStore;
  let operator: EventStoreDBClient;
  const drops: number[] = [];
  const troubles: unknown[] = [];
  /** The positions of `one`, `two` and `three`, the first events of this test. */
  const known: bigint[] = [];

  beforeAll(async () => {
    cluster = await startEventstoreCluster({ size: 1 });
    operator = EventStoreDBClient.connectionString(cluster.url());
    store = await eventstoreEventStore({
      url: cluster.url(),
      onFailure: (error) => troubles.push(error),
      onDrop: () => drops.push(1),
    });
    for (const text of ['one', 'two', 'three'])
      known.push((await store.append(streamName('counted', [text]), 'no-stream', [event(text)])).position);
  });
  afterAll(async () => {
    await store.close();
    await operator.dispose();
    await cluster.close();
  });

  const categories = ['counted'];
  const first = (): bigint => known[0]!;

  it.each([
    ['no filter', undefined],
    ['a filter', { categories }],
  ] as const)('is read after a position that no event has, with %s', async (_, filter) => {
    const filtered = filter === undefined ? {} : { filter };
    const readAfter = async (position: bigint) =>
      textsIn(await collect(store.readLog({ after: position, ...filtered })));
    expect(await readAfter(first() + 1n)).toEqual(['two', 'three']);
    expect(await readAfter(first() - 1n)).toEqual(['one', 'two', 'three']);
    expect(await readAfter(1n)).toEqual(['one', 'two', 'three']);
    expect(await readAfter((await store.head()) + 1_000n)).toEqual([]);
  });

  it.each([
    ['no filter', undefined],
    ['a filter', { categories }],
  ] as const)('is read from a position on, including the event there, with %s', async (_, filter) => {
    const readFrom = async (position: bigint) =>
      textsIn(await collect(store.readLog({ after: position, isInclusive: true, ...(filter && { filter }) })));
    expect(await readFrom(known[1]!)).toEqual(['two', 'three']);
    expect(await readFrom(known[1]! + 1n)).toEqual(['three']);
    expect(await readFrom(known[2]!)).toEqual(['three']);
  });

  it('is read backwards from a position that no event has, and from beyond its end', async () => {
    const readBefore = async (position: bigint) =>
      (await collect(store.readLogBackwards({ before: position }))).flat().map(textOf);
    expect(await readBefore(known[2]!)).toEqual(['two', 'one']);
    expect(await readBefore(known[2]! + 1n)).toEqual(['three', 'two', 'one']);
    expect(await readBefore(known[1]! - 1n)).toEqual(['one']);
    expect(await readBefore((await store.head()) + 1_000n)).toEqual(['three', 'two', 'one']);
  });

  it('is followed after a position that no event has', async () => {
    const seen: string[] = [];
    const subscription = store.subscribe({ after: first() + 1n, filter: { categories } }, ({ events }) => {
      seen.push(...events.map(textOf));
    });
    await until(
      () => Promise.resolve(seen.length),
      (count) => count >= 2,
    );
    expect(seen).toEqual(['two', 'three']);
    await subscription.close();
  });

  it('ends at the last event of any writer, and its readers reach that event', async () => {
    const foreign = jsonEvent({ type: 'Theirs', data: {} });
    const positions: bigint[] = [];
    const after = await store.head();
    const subscription = store.subscribe({ after, filter: { categories } }, ({ position }) => {
      positions.push(position);
    });
    const { position } = await operator.appendToStream('$theirs', foreign);
    await until(
      () => Promise.resolve(positions.at(-1)),
      (reached) => reached === position?.commit,
    );
    expect(await store.head()).toBe(position?.commit);
    const pages = await collect(store.readLog({ after: known[2]! }));
    expect(pages).toEqual([{ events: [], position: position?.commit }]);
    await subscription.close();
  });

  it('makes a subscription wait that starts beyond the end of the log, reports that, and delivers the events that follow', async () => {
    const after = (await store.head()) + 1_500n;
    const seen: string[] = [];
    const liveness: boolean[] = [];
    const subscription = store.subscribe({ after, filter: { categories } }, ({ events }, isLive) => {
      seen.push(...events.map(textOf));
      liveness.push(isLive);
    });
    await until(
      () => Promise.resolve(troubles.map(String)),
      (texts) => texts.some((text) => text.includes(`before position ${after}`)),
    );
    expect(liveness).toEqual([]);
    // Positions are byte offsets: the position `after` is inside this event of 3,000 bytes.
    await store.append(streamName('counted', ['passed']), 'no-stream', [event('passed', 3_000)]);
    await store.append(streamName('counted', ['next']), 'no-stream', [event('next')]);
    await until(
      () => Promise.resolve(seen),
      (texts) => texts.includes('next'),
    );
    await subscription.close();
  });

  it('drops a subscription that leaves events unread, which resumes, and loses and doubles nothing', async () => {
    const seen: string[] = [];
    const stream = streamName('counted', [randomUUID()]);
    const before = troubles.length;
    const subscription = store.subscribe({ after: await store.head(), filter: { categories } }, ({ events }) => {
      seen.push(...events.map(textOf));
    });
    const writer = new Worker(new URL('../support/clients/appending-thread.js', import.meta.url), {
      workerData: { url: cluster.url(), stream, bytes: 2_000 } satisfies Appending,
    });
    await until(
      () => Promise.resolve(seen.length),
      (count) => count > 0,
    );
    await until(
      () => {
        // Like a busy thread: nothing is read from the connection meanwhile.
        for (const busyUntil = performance.now() + 300; performance.now() < busyUntil;);
        return Promise.resolve(drops.length);
      },
      (count) => count > 0,
    );
    writer.postMessage('end');
    const [written] = (await once(writer, 'message')) as [number];
    await until(
      () => Promise.resolve(seen.length),
      (count) => count >= written,
    );
    expect(seen).toEqual(Array.from({ length: written }, (_, at) => String(at)));
    expect(troubles.slice(before)).toEqual([]);
    await subscription.close();
  });
});
