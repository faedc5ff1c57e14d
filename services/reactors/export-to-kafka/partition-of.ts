import type { StreamName } from '../../kernel/stream.js';

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * The share of the log with which a stream is exported, from 0; not the partition of its topic, which the Kafka client
 * chooses by the key. FNV-1a of the UTF-16 units of its name, so it never changes for a given number of shares.
 */
export const partitionOf = (stream: StreamName, partitions: number): number => {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < stream.length; at += 1) hash = Math.imul(hash ^ stream.charCodeAt(at), PRIME);
  return (hash >>> 0) % partitions;
};
