import type { StreamName } from '../../kernel/stream.js';

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * The partition of the export that a stream belongs to, from 0: FNV-1a of its name, so it never changes for a given
 * number of partitions.
 */
export const partitionOf = (stream: StreamName, partitions: number): number => {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < stream.length; at += 1) hash = Math.imul(hash ^ stream.charCodeAt(at), PRIME);
  return (hash >>> 0) % partitions;
};
