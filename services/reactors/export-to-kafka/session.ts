import type { Kafka } from 'kafkajs';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { endsBefore } from '../../kernel/log-end.js';
import { ExportRefused } from './failure.js';
import type { MessageSource, Wanted } from './message-source.js';
import { assertOwn, type ExportPosition, positionRecord, readPositions } from './positions.js';
import { openPump, type Pump } from './pump.js';
import { isAnyFilled } from './topic-reader.js';
import { openTopics, positionsTopic, topicOf, type TopicLimits, type TopicSettings } from './topics.js';
import { openWriter, type Writer } from './writer.js';

/** What is published of a log, where to, and by whom. */
export type SessionOptions = {
  readonly kafka: Kafka;
  readonly log: EventLog;
  readonly topics: TopicSettings;
  /** The events of the log as messages. */
  readonly messages: MessageSource;
  /** The categories of streams that are published; the rest of the log is left out. */
  readonly categories: readonly string[];
  /** Into how many parts the log is divided. */
  readonly parts: number;
  /** What this process calls itself among those that export. */
  readonly worker: string;
};

/** A worker's hold on a part of the log, until another takes over or something fails. */
export interface Session {
  /** Publishes what is recorded, until it is told to stop. */
  follow(stopped: Promise<void>): Promise<void>;
  /** When the oldest event was recorded that is not published, in milliseconds since 1970. */
  oldestMs(): number | undefined;
  /** Whether all that was recorded before it began has come to it as messages. */
  hasCaughtUp(): boolean;
  close(): Promise<void>;
}

/** Below what every broker takes as one batch by default, 1 MiB. */
const MAX_BATCH_BYTES = 900_000;
/** Beginning and ending a transaction takes as long as some requests with events do. */
const MAX_TRANSACTION_BYTES = 4 * MAX_BATCH_BYTES;
const IDLE_MS = 5_000;

/**
 * How far a part has been published; `undefined` when it never was.
 *
 * @throws {ExportRefused} when the positions are of another log.
 */
export const lastPosition = async (
  part: number,
  { kafka, log, topics, parts }: SessionOptions,
): Promise<ExportPosition | undefined> => {
  const positions = await readPositions(kafka, topics.prefix);
  assertOwn(positions, { logId: log.logId, parts, prefix: topics.prefix });
  return positions.get(part);
};

/**
 * The head of a log that a position is in.
 *
 * @throws {StoreUnavailable} when the log ends before it: it is tried again.
 */
const headBeyond = async (position: bigint, { log }: SessionOptions): Promise<bigint> => {
  const head = await log.head();
  if (position > head) throw new StoreUnavailable(endsBefore(head, position));
  return head;
};

/**
 * Events without any position are of an export whose positions somebody has removed. Every worker leaves a position
 * before its first event, so they are read again once there are events.
 */
const assertUnused = async ({ kafka, topics, categories }: SessionOptions): Promise<void> => {
  const { prefix } = topics;
  const isUsed = await isAnyFilled(
    kafka,
    categories.map((category) => topicOf(prefix, category)),
  );
  if (isUsed && (await readPositions(kafka, prefix)).size === 0)
    throw new ExportRefused(
      `the topics ${prefix}.* have events, and ${positionsTopic(prefix)} does not say up to where: delete them all to publish the log from its beginning, or publish to other topics (kafka.topic_prefix)`,
    );
};

const openOwnWriter = (
  part: number,
  { kafka, log, topics: { prefix } }: SessionOptions,
  limits: TopicLimits,
): Promise<Writer> =>
  openWriter(kafka, {
    transactionalId: `${prefix}.export.${log.logId}.${part}`,
    topicOf: (category) => topicOf(prefix, category),
    positions: positionsTopic(prefix),
    maxRequestBytes: Math.min(MAX_BATCH_BYTES, ...limits.values()),
  });

type Held = {
  readonly part: number;
  readonly from: bigint;
  /** Where the log ended when it took hold of the part. */
  readonly head: bigint;
  readonly writer: Writer;
  readonly limits: TopicLimits;
  readonly options: SessionOptions;
};

const recordOf = ({ part, options: { log, parts, worker } }: Pick<Held, 'part' | 'options'>, position: bigint) =>
  positionRecord(part, { logId: log.logId, position, parts, worker });

const pumpOf = (held: Held): Pump =>
  openPump({
    from: held.from,
    maxBytes: MAX_TRANSACTION_BYTES,
    write: (messages, position) => held.writer.commit(messages, recordOf(held, position)),
    idleMs: IDLE_MS,
  });

const wantedOf = ({ part, from, limits, options: { topics, categories, parts } }: Held): Wanted => {
  const limitOf = (category: string): number => limits.get(topicOf(topics.prefix, category)) ?? MAX_BATCH_BYTES;
  return { after: from, part, parts, maxBytes: new Map(categories.map((each) => [each, limitOf(each)])) };
};

const sessionOf = (held: Held): Session => {
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

const begin = async (held: Omit<Held, 'from' | 'head'>): Promise<Session> => {
  const { part, options, writer } = held;
  const last = await lastPosition(part, options);
  if (!last) await assertUnused(options);
  const from = last?.position ?? 0n;
  const head = await headBeyond(from, options);
  await writer.commit([], recordOf(held, from)); // says who works on it from now on
  return sessionOf({ ...held, from, head });
};

/**
 * Takes hold of a part: whoever had it can commit no more, and what was on its way is settled.
 *
 * @throws {ExportRefused} when the topics are not as they have to be, or have the events of another log.
 */
export const openSession = async (part: number, options: SessionOptions): Promise<Session> => {
  const limits = await openTopics(options.kafka, options.topics, options.categories);
  const writer = await openOwnWriter(part, options, limits);
  try {
    return await begin({ part, writer, limits, options });
  } catch (error) {
    await writer.close().catch(() => undefined);
    throw error;
  }
};
