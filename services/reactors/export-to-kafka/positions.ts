import type { Kafka, Message } from 'kafkajs';
import { ExportRefused } from './failure.js';
import { readTopics } from './topic-reader.js';
import { positionsTopic } from './topics.js';

/** Progress of the export of one partition, and the process that reported it. */
export type ExportPosition = {
  readonly logId: string;
  /** All events of the partition up to here are published. */
  readonly position: bigint;
  /** Number of partitions that the log was divided into. */
  readonly partitions: number;
  readonly worker: string;
};

/** The Kafka record of a position; the last record of a key is the valid one. */
export const positionRecord = (
  partition: number,
  { logId, position, partitions, worker }: ExportPosition,
): Message => ({
  key: String(partition),
  value: JSON.stringify({ logId, position: position.toString(), parts: partitions, worker } satisfies Stored),
});

/** Format of a record; records without a format have the first one. */
const FORMAT = 1;

/** A position as it is stored: `parts` is the number of partitions. */
type Stored = Omit<ExportPosition, 'position' | 'partitions'> & {
  readonly position: string;
  readonly parts: number;
  readonly format?: number;
};

const isStored = (value: unknown): value is Stored => {
  const { logId, position, parts, worker } = (value ?? {}) as Partial<Record<keyof Stored, unknown>>;
  return (
    [logId, worker].every((each) => typeof each === 'string') &&
    Number.isInteger(parts) &&
    typeof position === 'string' &&
    /^\d+$/u.test(position)
  );
};

const formatIn = (value: unknown): number => {
  const { format } = (value ?? {}) as { readonly format?: unknown };
  return typeof format === 'number' ? format : FORMAT;
};

const jsonIn = (value: Buffer): unknown => {
  try {
    return JSON.parse(value.toString());
  } catch {
    return undefined;
  }
};

/**
 * Reads the value of a record of the topic of positions.
 *
 * @throws {ExportRefused} when it is no position, or a newer release has written it.
 */
export const positionIn = (value: Buffer, topic: string): ExportPosition => {
  const stored = jsonIn(value);
  const format = formatIn(stored);
  if (format > FORMAT)
    throw new ExportRefused(
      `a newer release has written topic ${topic} (format ${format}; this release knows ${FORMAT}): start that one, or publish to other topics (kafka.topic_prefix)`,
    );
  if (!isStored(stored))
    throw new ExportRefused(
      `topic ${topic} has something else than positions of an export: publish to other topics (kafka.topic_prefix)`,
    );
  const { logId, position, parts, worker } = stored;
  return { logId, worker, partitions: parts, position: BigInt(position) };
};

/**
 * Reads the last position of each partition; partitions without a position are absent.
 *
 * @throws {ExportRefused} when the topic contains other data, or a newer release has written it.
 */
export const readPositions = async (kafka: Kafka, prefix: string): Promise<ReadonlyMap<number, ExportPosition>> => {
  const last = new Map<string, Buffer>();
  const topic = positionsTopic(prefix);
  await readTopics(
    kafka,
    [topic],
    ({ key, value }) => {
      if (key === null) return;
      if (value === null) last.delete(key.toString());
      else last.set(key.toString(), value);
    },
    { groupPrefix: `${prefix}.export` },
  );
  // Parsed after all are read: the client would retry an error thrown while reading again and again.
  return new Map([...last].map(([partition, value]) => [Number(partition), positionIn(value, topic)]));
};

/**
 * Checks that positions are of this log and of the same number of partitions.
 *
 * @throws {ExportRefused} when they are not: to continue would repeat or omit events.
 */
export const assertOwn = (
  positions: ReadonlyMap<number, ExportPosition>,
  { logId, partitions, prefix }: { readonly logId: string; readonly partitions: number; readonly prefix: string },
): void => {
  for (const found of positions.values()) {
    if (found.logId !== logId)
      throw new ExportRefused(
        `the topics ${prefix}.* have the events of another log, ${found.logId}, and this one is ${logId}: publish to other topics (kafka.topic_prefix)`,
      );
    if (found.partitions !== partitions)
      throw new ExportRefused(
        `the topics ${prefix}.* were published in ${found.partitions} partition(s), and kafka.export_partitions is ${partitions}: set it back, or publish to other topics (kafka.topic_prefix)`,
      );
  }
};

/**
 * The lowest position of all partitions: each has published its events up to there.
 *
 * @throws {ExportRefused} when the positions are of another log, or a partition has none.
 */
export const publishedUpTo = (
  positions: ReadonlyMap<number, ExportPosition>,
  { logId, prefix }: { readonly logId: string; readonly prefix: string },
): bigint => {
  const all = [...positions.values()];
  const other = all.find((each) => each.logId !== logId);
  if (other)
    throw new ExportRefused(
      `the topics ${prefix}.* have the events of another log, ${other.logId}, and this one is ${logId}: name the prefix of this log's topics (kafka.topic_prefix)`,
    );
  const [first, ...rest] = all;
  if (first === undefined)
    throw new ExportRefused(
      `topic ${positionsTopic(prefix)} has no position: the export has published nothing, or its positions are lost; --to compares up to a position`,
    );
  if (all.length < first.partitions)
    throw new ExportRefused(
      `topic ${positionsTopic(prefix)} has the positions of ${all.length} of ${first.partitions} partitions: the export has not begun the others, or their positions are lost; --to compares up to a position`,
    );
  return rest.reduce((least, { position }) => (position < least ? position : least), first.position);
};
