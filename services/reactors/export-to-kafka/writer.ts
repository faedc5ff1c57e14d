import type { Kafka, Message, Producer, TopicMessages, Transaction } from 'kafkajs';
import { batches, type Outgoing, recordOf } from './message.js';
import { byKey } from './partitioner.js';

/** Publishes messages in transactions. */
export interface TransactionWriter {
  /** Publishes all the messages and the record of the position, or nothing. */
  commit(messages: readonly Outgoing[], position: Message): Promise<void>;
  close(): Promise<void>;
}

export type WriterOptions = {
  /** Only the writer that was opened last with this id can commit. */
  readonly transactionalId: string;
  readonly topicOf: (category: string) => string;
  readonly positions: string;
  /** Maximum size of one request in bytes; a larger message goes alone. */
  readonly maxRequestBytes: number;
};

/**
 * Time in milliseconds after which the cluster aborts the transaction of a worker that has ended, so that consumers can
 * continue.
 */
const TRANSACTION_TIMEOUT_MS = 30_000;

const byTopic = (messages: readonly Outgoing[], topicOf: WriterOptions['topicOf']): TopicMessages[] => {
  const topics = new Map<string, Message[]>();
  for (const message of messages) {
    const known = topics.get(message.category);
    if (known) known.push(recordOf(message));
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
 * Opens a writer. It fences earlier writers with the same id: their open transaction is aborted, or committed if its
 * commit had begun, and they can commit no more. So when this resolves, what is committed is final.
 */
export const openWriter = async (
  kafka: Kafka,
  { transactionalId, topicOf, positions, maxRequestBytes }: WriterOptions,
): Promise<TransactionWriter> => {
  const producer = kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: byKey,
    // The markers of the previous transaction are often still being written, for some milliseconds.
    retry: { initialRetryTime: 5, multiplier: 1.6, retries: 10, maxRetryTime: 1_000 },
  });
  /** Splits a transaction into requests; the position goes with the last one. */
  const requests = (messages: readonly Outgoing[], position: Message): readonly (readonly TopicMessages[])[] => {
    const each = [...batches(messages, maxRequestBytes)].map((batch) => byTopic(batch, topicOf));
    return [...each.slice(0, -1), [...(each.at(-1) ?? []), { topic: positions, messages: [position] }]];
  };
  // Opening the first transaction makes the client take over the id; it is empty until there is a batch.
  let next = await firstTransaction(producer);
  return {
    commit: async (messages, position) => {
      const transaction = next.isActive() ? next : await producer.transaction();
      next = transaction;
      try {
        for (const topicMessages of requests(messages, position))
          await transaction.sendBatch({ topicMessages: [...topicMessages] });
      } catch (error) {
        // An open transaction would block consumers from reading what others commit.
        await transaction.abort().catch(() => undefined);
        throw error;
      }
      await transaction.commit();
    },
    close: () => producer.disconnect(),
  };
};
