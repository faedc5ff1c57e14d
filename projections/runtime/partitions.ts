import { sha256Hex } from '../../services/kernel/encoding/hash.js';
import { categoryOf, type StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import type { Checkpoint, ReadStore } from './read-store.js';

/** A part of the views: all documents whose events have routing keys of one hash. */
export type Partition = number;

/** How many there are: part of how views are laid out, so it is changed with the names of the checkpoints. */
const COUNT = 8;

export const PARTITIONS: readonly Partition[] = Array.from({ length: COUNT }, (_, partition) => partition);

/** Names of entities that are longer than this, encoded, are cut off in the names of some of their streams. */
const MAX_NAME_BYTES = 400;

/** In the streams of what is noted of a name, its kind stands before it. */
const KIND_COMES_FIRST = 'namedEntity';

/**
 * The routing key of a stream: project, domain and name of what it is about, without kind and version, so that all
 * streams that feed one document have the same.
 */
const routingKey = (stream: StreamName): string => {
  const category = categoryOf(stream);
  const [project = '', domain = '', third = '', fourth = ''] = stream.slice(category.length + 1).split(':');
  const name = category === KIND_COMES_FIRST ? fourth : third;
  const key = `${project}:${domain}:${name}`;
  return key.length > MAX_NAME_BYTES || key.includes('~') ? '' : key;
};

/** FNV-1a, folded, since its lowest bits depend on the lowest bits of the text alone. */
const hash = (text: string): number => {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value ^ (value >>> 15)) >>> 0;
};

/** The partition that everything belongs to that a stream feeds. */
export const partitionOf = (stream: StreamName): Partition => hash(routingKey(stream)) % COUNT;

/** The name that checkpoints of these models have: another version of one has another, and grows from the beginning. */
export const viewsName = ({ models }: Pick<EventSources, 'models'>): string =>
  models
    .map(({ collection }) => `${collection.name}.v${collection.version}`)
    .sort()
    .join(' ');

/**
 * The name of the leases on these views, in a build of them. Who keeps others, of another release or of before a
 * rebuild, shares nothing with who keeps these: each would keep the half of what somebody reads.
 */
export const claimsName = (sources: Pick<EventSources, 'models'>, build = 0): string =>
  `views ${sha256Hex(viewsName(sources)).slice(0, 8)}.${build}`;

/** The name of the checkpoint of a partition. */
export const checkpointName = (views: string, partition: Partition): string => `${views} ${partition}/${COUNT}`;

/** How far a partition is: its checkpoint, and before the first, where views without partitions have come to. */
export type Reached = { readonly checkpoint: Checkpoint | undefined; readonly start: Checkpoint | undefined };

/** How far partitions are, in their order. */
export const reachedBy = async (
  readStore: Pick<ReadStore, 'checkpoints'>,
  sources: Pick<EventSources, 'models'>,
  partitions: readonly Partition[] = PARTITIONS,
): Promise<readonly Reached[]> => {
  const views = viewsName(sources);
  const names = partitions.map((partition) => checkpointName(views, partition));
  const found = await readStore.checkpoints([...names, views]);
  return names.map((name) => ({ checkpoint: found.get(name), start: found.get(name) ?? found.get(views) }));
};

/** Above every position: what nobody keeps is not behind. */
export const BEYOND = 2n ** 63n - 1n;

/** The lowest of positions. */
export const lowestOf = (positions: Iterable<bigint>): bigint => {
  let lowest = BEYOND;
  for (const position of positions) if (position < lowest) lowest = position;
  return lowest;
};
