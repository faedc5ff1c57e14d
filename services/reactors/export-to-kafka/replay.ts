import type { Kafka } from 'kafkajs';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { categoryOf } from '../../kernel/stream.js';
import type { PublishedDataEncoder } from './cloud-events/encoding.js';
import { ExportRefused } from './failure.js';
import { batches, type ExportFormat, messageMaker, makeMessages, recordOf } from './message.js';
import { byKey } from './partitioner.js';
import { isSelected, type EventSelection } from './selection.js';
import { exportPrefixes, openTopic, positionsTopic, topicName, type TopicSettings } from './topics.js';

export type ReplayOptions = {
  readonly kafka: Kafka;
  readonly log: EventLog;
  readonly dataEncoder: PublishedDataEncoder;
  readonly format: ExportFormat;
  readonly categories: readonly string[];
  readonly topics: TopicSettings;
  readonly topic: string;
  readonly selection: EventSelection;
  /** Called with the position read so far and the number of events published. */
  readonly onProgress: (position: bigint, count: number) => void;
};

/**
 * The largest request of several messages, in bytes; a lower limit of the topic counts instead. A larger message goes
 * alone.
 */
const MAX_BATCH_BYTES = 500_000;

const isPublishedTo = (topic: string, prefix: string, categories: readonly string[]): boolean =>
  [positionsTopic(prefix), ...categories.map((category) => topicName(prefix, category))].includes(topic);

/**
 * Refuses the topics of this export and of exports with other prefixes: they would get events that their own export
 * does not know of.
 */
const assertOther = async ({ kafka, topic, categories, topics: { prefix } }: ReplayOptions): Promise<void> => {
  const prefixes = [prefix, ...(await exportPrefixes(kafka))];
  if (prefixes.some((each) => isPublishedTo(topic, each, categories)))
    throw new ExportRefused(
      `topic ${topic} is one that a log is published to, and would have events twice: choose another`,
    );
};

/**
 * Publishes events again, to a given topic, with the ids and keys with which they were published before. An event is
 * published without its data when it is too large for this topic, whether or not it was for that of the export.
 *
 * @returns the number of events published.
 * @throws {ExportRefused} for a topic to which this log or another one is exported, that is compacted, or that the
 * cluster refuses to create.
 */
export const replay = async (options: ReplayOptions): Promise<number> => {
  await assertOther(options);
  const { kafka, log, selection, topic, format, dataEncoder, onProgress } = options;
  const known = new Set(options.categories);
  const limit = await openTopic(kafka, topic, options.topics);
  const messageOf = messageMaker({ logId: log.logId, format, dataEncoder, maxBytes: () => limit });
  const maxBytes = Math.min(MAX_BATCH_BYTES, limit);
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: byKey,
    retry: { retries: 8 },
  });
  await producer.connect();
  let count = 0;
  try {
    for await (const { events, position } of log.readLog({ after: selection.from, isInclusive: true })) {
      const wanted = events.filter((event) => known.has(categoryOf(event.stream)) && isSelected(event, selection));
      const messages = await makeMessages(wanted, messageOf);
      for (const batch of batches(messages, maxBytes)) await producer.send({ topic, messages: batch.map(recordOf) });
      count += messages.length;
      onProgress(position, count);
      if (position >= selection.to) break;
    }
  } finally {
    await producer.disconnect();
  }
  return count;
};
