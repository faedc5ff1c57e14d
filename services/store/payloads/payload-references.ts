import { UnknownEvent } from '../../kernel/fault.js';
import type { EventCodec } from '../../kernel/aggregate.js';
import { schemaOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { sha256Hex } from '../../kernel/encoding/hash.js';
import type { PayloadRef } from '../../kernel/ports/payload-store.js';
import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { categoryOf } from '../../kernel/stream.js';
import { payloadPath } from './object-name.js';

/** The set of payloads that a log refers to. */
export type References = {
  /**
   * True when the log refers to the object with this path. Paths are compared by a hash of 52 bits, so a false positive
   * is possible.
   */
  has(path: string): boolean;
  readonly size: number;
  /** Position up to which the log was read. */
  readonly position: bigint;
};

/** Sources for reading the references. */
export type ReadReferences = {
  readonly log: EventLog;
  /** Codec of the events of each category. */
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
  /** Categories of other applications that write to the same event store; their events refer to no payloads. */
  readonly foreign: ReadonlySet<string>;
  readonly onProgress: (position: bigint, head: bigint) => void;
};

const SHARDS = 256;
/** Number of hexadecimal digits that a number represents exactly. */
const DIGITS = 13;

/**
 * A set of paths of any size, at about 50 bytes per path: paths are stored as numbers, in shards that stay below the
 * size limit of a `Set`.
 */
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
 * The payloads that an event refers to.
 *
 * @throws {UnknownEvent} when this release does not know the event's type, schema or category.
 * @throws {CorruptEvent} when the event's bytes do not match its type.
 */
export const payloadsNamedBy = (
  event: RecordedEvent,
  { codecs, foreign }: Pick<ReadReferences, 'codecs' | 'foreign'>,
): readonly PayloadRef[] => {
  const category = categoryOf(event.stream);
  if (foreign.has(category) || isSystemStream(event.stream)) return [];
  const codec = codecs.get(category);
  if (codec === undefined) {
    throw new UnknownEvent(`stream ${event.stream} at position ${event.position}: category ${category} is unknown`);
  }
  const decoded = codec.decode(event.type, event.data, schemaOf(event));
  return codec.contents(decoded).flatMap(({ content }) => (content.case === 'ref' ? [content.value] : []));
};

/**
 * Reads all payload references of the log, up to its head at the time of the call.
 *
 * @throws {UnknownEvent} when this release does not know an event, and so cannot know its payloads.
 * @throws {CorruptEvent} when an event cannot be decoded.
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
