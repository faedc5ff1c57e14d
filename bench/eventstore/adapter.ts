import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { binaryEvent, EventStoreDBClient, START } from '@eventstore/db-client';
import type { NewEvent } from '../../services/kernel/event.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { startLogServer } from '../../test/support/processes/log-server.js';
import type { BenchOptions, Figure } from '../bench.js';

/** Size of the data of each appended event. */
const DATA_BYTES = 500;
/** Appends that wait for their answer at the same time. */
const IN_FLIGHT = 64;
const METADATA = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: 'bench', schema: 1 });

const event = (): NewEvent => ({
  id: randomBytes(16),
  type: 'Benchmarked',
  data: Buffer.alloc(DATA_BYTES, 1),
  metadata: METADATA,
});

/**
 * Runs work `count` times, `inFlight` at a time.
 *
 * @returns the runs per second.
 */
const rate = async (count: number, inFlight: number, work: (n: number) => Promise<unknown>): Promise<number> => {
  let next = 0;
  const start = performance.now();
  const worker = async (): Promise<void> => {
    while (next < count) await work((next += 1));
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (count * 1_000) / (performance.now() - start);
};

/**
 * Measures appends with the bare client and then with the adapter, in the same process. Each first warms up with a
 * quarter as many appends, to streams with negative numbers.
 */
const appends = async (url: string, count: number, inFlight: number): Promise<Figure> => {
  const bare = EventStoreDBClient.connectionString(url);
  const send = (n: number): Promise<unknown> =>
    bare.appendToStream(
      `bare-${inFlight}-${n}`,
      binaryEvent({ type: 'Benchmarked', data: new Uint8Array(DATA_BYTES) }),
    );
  await rate(count / 4, inFlight, (n) => send(-n));
  const baseline = await rate(count, inFlight, send);
  await bare.dispose();
  const store = await eventstoreEventStore({ url });
  const append = (n: number): Promise<unknown> =>
    store.append(streamName('benchmarked', [`${inFlight}`, `${n}`]), 'no-stream', [event()]);
  await rate(count / 4, inFlight, (n) => append(-n));
  const perSecond = await rate(count, inFlight, append);
  await store.close();
  return {
    name: `eventstore, appends, ${inFlight} in flight`,
    perSecond,
    baseline: { what: 'bare client', perSecond: baseline },
    notes: { bytes: DATA_BYTES },
  };
};

/** Reads to the end and measures the rate; each item of `batches` is a number of events that were read together. */
const measureReads = async (batches: AsyncIterable<number>): Promise<{ count: number; perSecond: number }> => {
  const start = performance.now();
  let count = 0;
  for await (const events of batches) count += events;
  return { count, perSecond: (count * 1_000) / (performance.now() - start) };
};

async function* bareRead(client: EventStoreDBClient): AsyncGenerator<number> {
  for await (const { event: each } of client.readAll({ fromPosition: START })) yield each === undefined ? 0 : 1;
}

/** Measures reads of the whole log, which has the events of `appends`, with the bare client, then with the adapter. */
const reads = async (url: string): Promise<Figure> => {
  const client = EventStoreDBClient.connectionString(url);
  await measureReads(bareRead(client)); // the warm-up
  const baseline = await measureReads(bareRead(client));
  await client.dispose();
  const store = await eventstoreEventStore({ url });
  async function* pages(): AsyncGenerator<number> {
    for await (const { events } of store.readLog({ after: 0n })) yield events.length;
  }
  await measureReads(pages()); // the warm-up
  const { perSecond, count } = await measureReads(pages());
  await store.close();
  return {
    name: 'eventstore, catch-up reads',
    perSecond,
    baseline: { what: 'bare client', perSecond: baseline.perSecond },
    notes: { events: count },
  };
};

/** Compares the adapter with the bare official client, on flightlog's own log server (`serve --role log`). */
export const adapter = async ({ disk, count }: BenchOptions): Promise<readonly Figure[]> => {
  const server = await startLogServer(join(disk.directory, 'eventstore'));
  const url = `esdb://${server.address}?tls=false`;
  try {
    return [await appends(url, Math.ceil(count / 4), IN_FLIGHT), await reads(url)];
  } finally {
    await server.stop();
  }
};
