import { UnknownEvent } from '../../kernel/fault.js';
import type { EventCodec } from '../../kernel/aggregate.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { sha256Hex } from '../../kernel/encoding/hash.js';
import type { PayloadRef } from '../../kernel/ports/payload-store.js';
import { categoryOf } from '../../kernel/stream.js';
import { payloadPath } from './object-name.js';

/** Which payloads a log names. */
export type References = {
  /** Whether the object that belongs at this path is named; about one of 2^52 others is taken for one too. */
  has(path: string): boolean;
  readonly size: number;
  /** Up to where the log was read. */
  readonly position: bigint;
};

/** How references are read. */
export type ReadReferences = {
  readonly log: EventLog;
  /** How the events of each category are decoded. */
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
  /** Categories of others, who write to the same event store and name no payloads. */
  readonly foreign: ReadonlySet<string>;
  readonly onProgress: (position: bigint, head: bigint) => void;
};

const SHARDS = 256;
/** Hexadecimal digits that a number keeps exactly. */
const DIGITS = 13;

/** A set of paths of any size, about 50 bytes for each: a number stands for a path, and one set is never too large. */
const pathSet = () => {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>());
  const numberOf = (path: string): number => Number.parseInt(sha256Hex(path).slice(0, DIGITS), 16);
  const shardOf = (number: number): Set<number> | undefined => shards[number % SHARDS];
  return {
    add: (path: string) => {
      const number = numberOf(path);
      shardOf(number)?.add(number);
    },
    has: (path: string): boolean => {
      const number = numberOf(path);
      return shardOf(number)?.has(number) ?? false;
    },
    size: (): number => shards.reduce((sum, { size }) => sum + size, 0),
  };
};

/**
 * The payloads that an event names.
 *
 * @throws {UnknownEvent} when this release cannot read it.
 */
export const payloadsNamedBy = (
  event: RecordedEvent,
  { codecs, foreign }: Pick<ReadReferences, 'codecs' | 'foreign'>,
): readonly PayloadRef[] => {
  const category = categoryOf(event.stream);
  if (foreign.has(category)) return [];
  const codec = codecs.get(category);
  if (codec === undefined) {
    throw new UnknownEvent(`stream ${event.stream} at position ${event.position}: category ${category} is unknown`);
  }
  const decoded = codec.decode(event.type, event.data, metadataOf(event).schema);
  return codec.contents(decoded).flatMap(({ content }) => (content.case === 'ref' ? [content.value] : []));
};

/**
 * Reads which payloads the log names, up to its head at the moment of the call.
 *
 * @throws {UnknownEvent} when there is an event that this release cannot read: what it names is not known then.
 * @throws {CorruptEvent} when there is one that nobody can.
 */
export const payloadReferences = async (reading: ReadReferences): Promise<References> => {
  const { log, onProgress } = reading;
  const paths = pathSet();
  const head = await log.head();
  let position = 0n;
  for await (const page of log.readLog({ after: 0n })) {
    for (const event of page.events) {
      for (const { scope, sha256 } of payloadsNamedBy(event, reading)) paths.add(payloadPath(scope, sha256));
    }
    ({ position } = page);
    onProgress(position, head);
  }
  return { has: paths.has, size: paths.size(), position };
};
