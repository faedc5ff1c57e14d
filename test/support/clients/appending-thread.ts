import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { binaryEvent, EventStoreDBClient } from '@eventstore/db-client';

/**
 * The worker data of a thread that appends numbered events to one stream, 100 at a time, until it gets a message. It
 * then posts the number of events that it has appended. `bytes` is the least size of the data of an event.
 */
export type Appending = { readonly url: string; readonly stream: string; readonly bytes: number };

const { url, stream, bytes } = workerData as Appending;
const client = EventStoreDBClient.connectionString(url);
const state = { count: 0, isEnding: false };

parentPort?.once('message', () => {
  state.isEnding = true;
});
while (!state.isEnding) {
  const events = Array.from({ length: 100 }, (_, at) => {
    const data = Buffer.from(String(state.count + at).padEnd(bytes));
    return binaryEvent({ id: randomUUID(), type: 'Counted', data: new Uint8Array(data) });
  });
  await client.appendToStream(stream, events);
  state.count += events.length;
}
await client.dispose();
parentPort?.postMessage(state.count);
