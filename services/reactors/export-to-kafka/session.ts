import type { Kafka } from 'kafkajs';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { LogEndsEarly } from '../../kernel/log-readers/log-end.js';
import { ExportRefused } from './failure.js';
import type { MessageSource, MessageSelection } from './message-source.js';
import { assertOwn, type ExportPosition, positionRecord, readPositions } from './positions.js';
import { openPump, type Pump } from './pump.js';
import { isAnyFilled } from './topic-reader.js';
import { ensureTopics, positionsTopic, topicName, type TopicLimits, type TopicSettings } from './topics.js';
import { openWriter, type TransactionWriter } from './writer.js';

/** Settings of an export: its source, its topics and the name of this process. */
export type SessionOptions = {
  readonly kafka: Kafka;
  readonly log: EventLog;
  readonly topics: TopicSettings;
  /** Makes the messages of the log's events. */
  readonly messages: MessageSource;
  /** The categories of streams that are published; events of other categories are skipped. */
  readonly categories: readonly string[];
  /** Number of partitions that the log is divided into. */
  readonly partitions: number;
  /** The name of this process, unique among those that export. */
  readonly worker: string;
};

/** Exclusive ownership of a partition by this process, until another process takes over or something fails. */
export interface ExportSession {
  /** Publishes events as they are recorded, until `stopped` resolves. */
  follow(stopped: Promise<void>): Promise<void>;
  /** Time at which the oldest event that is not published was recorded, in milliseconds since 1970. */
  oldestMs(): number | undefined;
  /** True when all events that were recorded before the session began have been received as messages. */
  hasCaughtUp(): boolean;
  close(): Promise<void>;
}

/** Below the default limit of brokers for a batch, 1 MiB. */
const MAX_BATCH_BYTES = 900_000;
/** Larger than a batch: to begin and end a transaction takes as long as several requests with events. */
const MAX_TRANSACTION_BYTES = 4 * MAX_BATCH_BYTES;
const IDLE_MS = 5_000;

/**
 * The last position of a partition; `undefined` when it was never published.
 *
 * @throws {ExportRefused} when the positions are of another log, or of another number of partitions, or cannot be read
 * by this release.
 */
export const lastPosition = async (
  partition: number,
  { kafka, log, topics, partitions }: SessionOptions,
): Promise<ExportPosition | undefined> => {
  const positions = await readPositions(kafka, topics.prefix);
  assertOwn(positions, { logId: log.logId, partitions, prefix: topics.prefix });
  return positions.get(partition);
};

/**
 * The head of the log, which must not be before a published position.
 *
 * @throws {LogEndsEarly} when the log ends before that position; it can be retried.
 */
const headBeyond = async (position: bigint, { log }: SessionOptions): Promise<bigint> => {
  const head = await log.head();
  if (position > head) throw new LogEndsEarly(head, position);
  return head;
};

/**
 * Refuses topics that have events but no positions, because the positions of that export were deleted. Each worker
 * writes a position before its first event, so when events are found, the positions are read again.
 *
 * @throws {ExportRefused} when there are events and no position.
 */
const assertUnused = async ({ kafka, topics, categories }: SessionOptions): Promise<void> => {
  const { prefix } = topics;
  const isUsed = await isAnyFilled(
    kafka,
    categories.map((category) => topicName(prefix, category)),
  );
  if (isUsed && (await readPositions(kafka, prefix)).size === 0)
    throw new ExportRefused(
      `the topics ${prefix}.* have events, and ${positionsTopic(prefix)} does not say up to where: delete them all to publish the log from its beginning, or publish to other topics (kafka.topic_prefix)`,
    );
};

const openOwnWriter = (
  partition: number,
  { kafka, log, topics: { prefix } }: SessionOptions,
  limits: TopicLimits,
): Promise<TransactionWriter> =>
  openWriter(kafka, {
    transactionalId: `${prefix}.export.${log.logId}.${partition}`,
    topicOf: (category) => topicName(prefix, category),
    positions: positionsTopic(prefix),
    maxRequestBytes: Math.min(MAX_BATCH_BYTES, ...limits.values()),
  });

type OwnedPartition = {
  readonly partition: number;
  readonly from: bigint;
  /** The head of the log when the session began. */
  readonly head: bigint;
  readonly writer: TransactionWriter;
  readonly limits: TopicLimits;
  readonly options: SessionOptions;
};

const recordOf = (
  { partition, options: { log, partitions, worker } }: Pick<OwnedPartition, 'partition' | 'options'>,
  position: bigint,
) => positionRecord(partition, { logId: log.logId, position, partitions, worker });

const pumpOf = (held: OwnedPartition): Pump =>
  openPump({
    from: held.from,
    maxBytes: MAX_TRANSACTION_BYTES,
    write: (messages, position) => held.writer.commit(messages, recordOf(held, position)),
    idleMs: IDLE_MS,
  });

const wantedOf = ({
  partition,
  from,
  limits,
  options: { topics, categories, partitions },
}: OwnedPartition): MessageSelection => {
  const limitOf = (category: string): number => limits.get(topicName(topics.prefix, category)) ?? MAX_BATCH_BYTES;
  return { after: from, partition, partitions, maxBytes: new Map(categories.map((each) => [each, limitOf(each)])) };
};

const sessionOf = (held: OwnedPartition): ExportSession => {
  const pump = pumpOf(held);
  return {
    oldestMs: () => pump.oldestMs(),
    hasCaughtUp: () => pump.seen() >= held.head,
    follow: async (stopped) => {
      const subscription = held.options.messages.follow(wantedOf(held), (messages, position) =>
        pump.add(messages, position),
      );
      try {
        await Promise.race([subscription.ended, pump.failed, stopped]);
      } finally {
        await pump.close();
        await subscription.close();
      }
    },
    close: async () => {
      await pump.close();
      await held.writer.close();
    },
  };
};

const begin = async (held: Omit<OwnedPartition, 'from' | 'head'>): Promise<ExportSession> => {
  const { partition, options, writer } = held;
  const last = await lastPosition(partition, options);
  if (!last) await assertUnused(options);
  const from = last?.position ?? 0n;
  const head = await headBeyond(from, options);
  await writer.commit([], recordOf(held, from)); // records that this process owns the partition from now on
  return sessionOf({ ...held, from, head });
};

/**
 * Takes ownership of a partition: the previous owner can commit no more, and its transaction in flight is settled.
 *
 * @throws {ExportRefused} when the topics have other settings, or the cluster refuses to create them; when their
 * positions are of another log or number of partitions, or unreadable; and when they have events but no positions.
 * @throws {LogEndsEarly} when the log ends before the last position; it can be retried.
 */
export const openSession = async (partition: number, options: SessionOptions): Promise<ExportSession> => {
  const limits = await ensureTopics(options.kafka, options.topics, options.categories);
  const writer = await openOwnWriter(partition, options, limits);
  try {
    return await begin({ partition, writer, limits, options });
  } catch (error) {
    await writer.close().catch(() => undefined);
    throw error;
  }
};
