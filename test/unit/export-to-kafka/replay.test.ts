import type { ProducerRecord } from 'kafkajs';
import { expect, it } from 'vitest';
import { writeText } from '../../../services/kernel/encoding/json-bytes.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { replay } from '../../../services/reactors/export-to-kafka/replay.js';
import { executionStream, nodeReported } from '../../support/streams/filled-log.js';
import { emptyCluster } from './cluster.js';

/** The largest request that the topic takes, in bytes. */
const LIMIT = 4_000;

const events = Array.from({ length: 10 }, (_, at) => ({
  ...nodeReported('a1b2', at),
  stream: executionStream('a1b2'),
  revision: BigInt(at),
  position: BigInt(at + 1),
}));

const log = {
  logId: '4840a941-dec6-4d4b-b036-6929f53bff43',
  async *readLog() {
    yield await Promise.resolve({ events, position: 10n });
  },
} as unknown as EventLog;

it('a replay sends no request that is too large for its topic, also when the limit of the topic is low', async () => {
  const sent: ProducerRecord[] = [];
  const send = (record: ProducerRecord): Promise<[]> => {
    sent.push(record);
    return Promise.resolve([]);
  };
  const count = await replay({
    kafka: emptyCluster({ again: 'delete' }, LIMIT, { send }),
    log,
    dataEncoder: {
      json: (_event, json) => {
        writeText(json, '"some data"');
        return undefined;
      },
      message: () => Promise.resolve(new Uint8Array()),
    },
    format: 'json',
    categories: ['execution'],
    topics: { prefix: 'flightlog', partitions: 1, replicationFactor: -1 },
    topic: 'again',
    selection: { from: 0n, to: 10n, filters: [] },
    onProgress: () => undefined,
  });
  expect(count).toBe(10);
  expect(sent.reduce((sum, { messages }) => sum + messages.length, 0)).toBe(10);
  for (const { messages } of sent)
    expect(messages.reduce((bytes, { value }) => bytes + (value?.length ?? 0), 0)).toBeLessThan(LIMIT);
});
