import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { errorTypesIn } from './failure.js';

/** Called with each message, in the order of its partition. */
export type OnMessage = (message: KafkaMessage, topic: string) => void;

type Ends = Map<string, bigint>;

const partitionKey = (topic: string, partition: number): string => `${topic}/${partition}`;

/** The current end offset of each partition that has records, transaction markers included. */
const endsOf = async (kafka: Kafka, topics: readonly string[]): Promise<Ends> => {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const ends: Ends = new Map();
    for (const topic of topics) {
      const offsets = await admin.fetchTopicOffsets(topic);
      const filled = offsets.filter(({ high, low }) => BigInt(high) > BigInt(low));
      for (const { partition, high } of filled) ends.set(partitionKey(topic, partition), BigInt(high));
    }
    return ends;
  } finally {
    await admin.disconnect();
  }
};

/** True when at least one of the topics has records. */
export const isAnyFilled = async (kafka: Kafka, topics: readonly string[]): Promise<boolean> =>
  (await endsOf(kafka, topics)).size > 0;

const forget = async (kafka: Kafka, groupId: string): Promise<void> => {
  const admin = kafka.admin();
  await admin.connect();
  await admin.deleteGroups([groupId]).catch(() => undefined); // the broker deletes an empty group later
  await admin.disconnect();
};

/**
 * Consumes until every partition has been read to its end. The last record of a partition may be a transaction marker,
 * which the consumer is never given.
 */
const readUntil = (
  consumer: Consumer,
  ends: Ends,
  onMessage: OnMessage,
  onRead: (count: bigint) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const left = new Map(ends);
    const sum = (): bigint => [...left.values()].reduce((total, each) => total + each, 0n);
    const read = (topic: string, partition: number, lastOffset: string): void => {
      const end = ends.get(partitionKey(topic, partition));
      if (end === undefined) return;
      const rest = end - (BigInt(lastOffset) + 1n);
      if (rest > 0n) left.set(partitionKey(topic, partition), rest);
      else left.delete(partitionKey(topic, partition));
      onRead(sum());
      if (left.size === 0) resolve();
    };
    const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
      const { batch } = payload;
      const end = ends.get(partitionKey(batch.topic, batch.partition)) ?? 0n;
      for (const message of batch.messages) if (BigInt(message.offset) < end) onMessage(message, batch.topic);
      await payload.heartbeat();
    };
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
      read(payload.topic, payload.partition, payload.lastOffset),
    );
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    consumer.run({ autoCommit: false, partitionsConsumedConcurrently: 1, eachBatch }).catch(reject);
  });

/** Interval in milliseconds of the check that a topic still has the records to read. */
const CHECK_MS = 2_000;

/** Rejects when a topic loses the records that are to be read: the client would wait for them for ever. */
const watchEnds = (kafka: Kafka, topics: readonly string[], ends: Ends) => {
  let fail: (error: Error) => void = () => undefined;
  const deleted = new Promise<never>((_, reject) => (fail = reject));
  deleted.catch(() => undefined); // no unhandled rejection after the race was lost
  const check = async (): Promise<void> => {
    const now = await endsOf(kafka, topics).catch((error: unknown): Ends | undefined =>
      errorTypesIn(error).includes('UNKNOWN_TOPIC_OR_PARTITION') ? new Map() : undefined,
    );
    const lost = now && [...ends].find(([place, end]) => (now.get(place) ?? 0n) < end);
    if (lost)
      fail(
        new Error(
          `topic partition ${lost[0]} has lost records while it was read: it was deleted, or their retention time has passed`,
        ),
      );
  };
  const timer = setInterval(() => void check(), CHECK_MS);
  return { deleted, close: () => clearInterval(timer) };
};

/**
 * The progress, and the prefix of the consumer group. Progress counts offsets, also those of transaction markers and of
 * removed messages.
 */
export type ReadOptions = { readonly onProgress?: (left: bigint, total: bigint) => void; readonly groupPrefix: string };

/** Reads the committed messages of topics from their beginning to their current end. */
export const readTopics = async (
  kafka: Kafka,
  topics: readonly string[],
  onMessage: OnMessage,
  { onProgress, groupPrefix }: ReadOptions,
): Promise<void> => {
  const ends = await endsOf(kafka, topics);
  if (ends.size === 0) return;
  const groupId = `${groupPrefix}.${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: 200,
    allowAutoTopicCreation: false,
    retry: { retries: 3 },
  });
  const total = [...ends.values()].reduce((sum, each) => sum + each, 0n);
  const watch = watchEnds(kafka, topics, ends);
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    const reading = readUntil(consumer, ends, onMessage, (left) => onProgress?.(left, total));
    await Promise.race([reading, watch.deleted]);
  } finally {
    watch.close();
    await consumer.disconnect();
    await forget(kafka, groupId).catch(() => undefined);
  }
};
