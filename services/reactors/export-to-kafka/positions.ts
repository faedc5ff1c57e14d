import type { Kafka, Message } from 'kafkajs';
import { ExportRefused } from './failure.js';
import { readTopics } from './topic-reader.js';
import { positionsTopic } from './topics.js';

/** How far a part of a log has been published, and by whom. */
export type ExportPosition = {
  readonly logId: string;
  /** Everything of the part up to here is published. */
  readonly position: bigint;
  /** Into how many parts the log was divided. */
  readonly parts: number;
  readonly worker: string;
};

/** The record of a position; the last one of its key counts. */
export const positionRecord = (part: number, { logId, position, parts, worker }: ExportPosition): Message => ({
  key: String(part),
  value: JSON.stringify({ logId, position: position.toString(), parts, worker }),
});

/** How a record is to be read; one that does not say is of the first form. */
const FORMAT = 1;

type Stored = Omit<ExportPosition, 'position'> & { readonly position: string; readonly format?: number };

const storedIn = (value: Buffer, topic: string): Stored => {
  try {
    return JSON.parse(value.toString()) as Stored;
  } catch (error) {
    throw new ExportRefused(
      `topic ${topic} has something else than positions of an export: publish to other topics (kafka.topic_prefix)`,
      { cause: error },
    );
  }
};

const parsed = (value: Buffer, topic: string): ExportPosition => {
  const { position, format = FORMAT, ...others } = storedIn(value, topic);
  if (format > FORMAT)
    throw new ExportRefused(
      `a newer release has written topic ${topic} (format ${format}; this release knows ${FORMAT}): start that one, or publish to other topics (kafka.topic_prefix)`,
    );
  return { ...others, position: BigInt(position) };
};

/**
 * Every part that has a position, with the last one.
 *
 * @throws {ExportRefused} when the topic has something else, or a newer release has written it.
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
  // Once all are read: the client would try again and again what fails on the way.
  return new Map([...last].map(([part, value]) => [Number(part), parsed(value, topic)]));
};

/**
 * Makes sure that positions are of this log and of as many parts.
 *
 * @throws {ExportRefused} when they are not: going on would repeat events, or leave some out.
 */
export const assertOwn = (
  positions: ReadonlyMap<number, ExportPosition>,
  { logId, parts, prefix }: { readonly logId: string; readonly parts: number; readonly prefix: string },
): void => {
  for (const found of positions.values()) {
    if (found.logId !== logId)
      throw new ExportRefused(
        `the topics ${prefix}.* have the events of another log, ${found.logId}, and this one is ${logId}: publish to other topics (kafka.topic_prefix)`,
      );
    if (found.parts !== parts)
      throw new ExportRefused(
        `the topics ${prefix}.* were published in ${found.parts} part(s), and kafka.export_partitions is ${parts}: set it back, or publish to other topics (kafka.topic_prefix)`,
      );
  }
};
