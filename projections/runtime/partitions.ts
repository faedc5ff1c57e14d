import { sha256Hex } from '../../services/kernel/encoding/hash.js';
import { categoryOf, type StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';

/**
 * A partition of the views: all documents whose streams have routing keys with the same hash modulo `PARTITION_COUNT`.
 */
export type Partition = number;

/** Number of partitions. It is part of the stored layout, and of the names of the checkpoints. */
export const PARTITION_COUNT = 8;

export const PARTITIONS: readonly Partition[] = Array.from({ length: PARTITION_COUNT }, (_, partition) => partition);

/**
 * While the routing key has at most this many encoded bytes, no stream name truncates it. Above it, some streams of an
 * entity may have the name of the entity only as a hash.
 */
const MAX_KEY_BYTES = 400;

/** The category whose stream names have the kind of the entity before the entity's name. */
const KIND_COMES_FIRST = 'namedEntity';

/**
 * The routing key of a stream: project, domain and name of the entity, without kind and version, so that all streams
 * that feed one document have the same key. Empty where the name may be truncated.
 */
const routingKey = (stream: StreamName): string => {
  const category = categoryOf(stream);
  const [project = '', domain = '', third = '', fourth = ''] = stream.slice(category.length + 1).split(':');
  const name = category === KIND_COMES_FIRST ? fourth : third;
  const key = `${project}:${domain}:${name}`;
  return key.length > MAX_KEY_BYTES || key.includes('~') ? '' : key;
};

/** FNV-1a, with the upper half folded in, because its lowest bits depend only on the lowest bits of the text. */
const hash = (text: string): number => {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value ^ (value >>> 15)) >>> 0;
};

/** The partition of all documents that a stream feeds. */
export const viewPartitionOf = (stream: StreamName): Partition => hash(routingKey(stream)) % PARTITION_COUNT;

/** Base name of the checkpoints of these read models: their names and versions. */
export const viewsName = ({ models }: Pick<EventSources, 'models'>): string =>
  models
    .map(({ collection }) => `${collection.name}.v${collection.version}`)
    .sort()
    .join(' ');

/**
 * Name of the leases on these views, for one build of them. Processes of another release, or from before a rebuild,
 * write other views, so their leases must have other names: with shared leases, the processes of each release would
 * update only some of the partitions that their clients read.
 */
export const leasesName = (sources: Pick<EventSources, 'models'>, build = 0): string =>
  `views ${sha256Hex(viewsName(sources)).slice(0, 8)}.${build}`;

/** Name of the checkpoint of a partition. */
export const checkpointName = (views: string, partition: Partition): string =>
  `${views} ${partition}/${PARTITION_COUNT}`;

/** Greater than every position: the lowest position over no partitions, so a process that writes none is not behind. */
export const MAX_POSITION = 2n ** 63n - 1n;

/** The lowest of the positions; `MAX_POSITION` for none. */
export const lowestOf = (positions: Iterable<bigint>): bigint => {
  let lowest = MAX_POSITION;
  for (const position of positions) if (position < lowest) lowest = position;
  return lowest;
};

/** The highest of the positions; 0n for none. */
export const highestOf = (positions: Iterable<bigint>): bigint => {
  let highest = 0n;
  for (const position of positions) if (position > highest) highest = position;
  return highest;
};
