import type { ICustomPartitioner } from 'kafkajs';

const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const WORD_BYTES = 4;
const POSITIVE = 0x7fffffff;
const NO_KEY = new Uint8Array();

const mixed = (word: number): number => {
  const product = Math.imul(word, MULTIPLIER);
  return Math.imul(product ^ (product >>> 24), MULTIPLIER);
};

/** The bytes from a place on, the first of them lowest, up to four. */
const wordAt = (key: Uint8Array, at: number): number =>
  (key[at] ?? 0) | ((key[at + 1] ?? 0) << 8) | ((key[at + 2] ?? 0) << 16) | ((key[at + 3] ?? 0) << 24);

/** MurmurHash2 in 32 bits, as the clients of Apache Kafka take it of keys. */
const murmur2 = (key: Uint8Array): number => {
  const whole = key.length - (key.length % WORD_BYTES);
  let hash = SEED ^ key.length;
  for (let at = 0; at < whole; at += WORD_BYTES) hash = Math.imul(hash, MULTIPLIER) ^ mixed(wordAt(key, at));
  if (whole < key.length) hash = Math.imul(hash ^ wordAt(key, whole), MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
};

/**
 * The partition of a key, as the clients of Apache Kafka choose it, and kafkajs does by default. The hash of kafkajs
 * itself, in big integers, takes as long as making half of a message.
 */
export const byKey: ICustomPartitioner =
  () =>
  ({ partitionMetadata, message: { key } }) =>
    (murmur2(typeof key === 'string' ? Buffer.from(key) : (key ?? NO_KEY)) & POSITIVE) % partitionMetadata.length;
