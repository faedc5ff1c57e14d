import type { Kafka, Message, Producer, TopicMessages, Transaction } from 'kafkajs';
import { batches } from './batches.js';
import { type Outgoing, recordOf } from './message.js';
import { byKey } from './partitioner.js';

/** Publishes in transactions. */
export interface Writer {
  /** Publishes all the messages and the record that says so, or nothing. */
  commit(messages: readonly Outgoing[], position: Message): Promise<void>;
  close(): Promise<void>;
}

export type WriterOptions = {
  /** Only the last one to open a writer of this name can commit. */
  readonly transactionalId: string;
  readonly topicOf: (category: string) => string;
  readonly positions: string;
  /** What one request has at most, in bytes; a message above it goes alone. */
  readonly maxRequestBytes: number;
};

/** After so long the cluster gives up a transaction whose worker is gone, and its readers go on, in milliseconds. */
const TRANSACTION_TIMEOUT_MS = 30_000;

const byTopic = (messages: readonly Outgoing[], topicOf: WriterOptions['topicOf']): TopicMessages[] => {
  const topics = new Map<string, Message[]>();
  for (const message of messages) {
    const others = topics.get(message.category);
    if (others) others.push(recordOf(message));
    else topics.set(message.category, [recordOf(message)]);
  }
  return [...topics].map(([category, each]) => ({ topic: topicOf(category), messages: each }));
};

const firstTransaction = async (producer: Producer): Promise<Transaction> => {
  try {
    await producer.connect();
    return await producer.transaction();
  } catch (error) {
    await producer.disconnect().catch(() => undefined);
    throw error;
  }
};

/**
 * Opens the writer of a name. What another one of this name has begun is aborted or, once it was to be committed,
 * committed, and the other can commit no more: when this answers, what is committed is final.
 */
export const openWriter = async (
  kafka: Kafka,
  { transactionalId, topicOf, positions, maxRequestBytes }: WriterOptions,
): Promise<Writer> => {
  const producer = kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: byKey,
    // The markers of the transaction before are often still on their way; that takes some milliseconds.
    retry: { initialRetryTime: 5, multiplier: 1.6, retries: 10, maxRetryTime: 1_000 },
  });
  /** The position goes with the last of them. */
  const requests = (messages: readonly Outgoing[], position: Message): readonly (readonly TopicMessages[])[] => {
    const each = [...batches(messages, maxRequestBytes)].map((batch) => byTopic(batch, topicOf));
    return [...each.slice(0, -1), [...(each.at(-1) ?? []), { topic: positions, messages: [position] }]];
  };
  // The first transaction is what makes the client take hold of the name; nothing is in it until there is a batch.
  let next = await firstTransaction(producer);
  return {
    commit: async (messages, position) => {
      const transaction = next.isActive() ? next : await producer.transaction();
      next = transaction;
      try {
        for (const topicMessages of requests(messages, position))
          await transaction.sendBatch({ topicMessages: [...topicMessages] });
      } catch (error) {
        // An open transaction would keep readers from what others commit.
        await transaction.abort().catch(() => undefined);
        throw error;
      }
      await transaction.commit();
    },
    close: () => producer.disconnect(),
  };
};
