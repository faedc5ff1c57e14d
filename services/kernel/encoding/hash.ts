import { createHash } from 'node:crypto';

/** SHA-256 as 64 lower-case hexadecimal digits. */
export const sha256Hex = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** SHA-256, 32 bytes. */
export const sha256 = (content: string | Uint8Array): Uint8Array =>
  new Uint8Array(createHash('sha256').update(content).digest());

const mix = (hash: number): number => {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
};

/**
 * 64-bit non-cryptographic hash at about one nanosecond per byte, to find possible repetitions on the hot path. Callers
 * must compare values with the same hash byte by byte.
 */
export const shortHash = (bytes: Uint8Array): bigint => {
  let a = 0x9e3779b9 ^ bytes.length;
  let b = 0x243f6a88;
  // An index loop with 32-bit integers: an iterator or a float is four times as slow.
  for (let at = 0, end = bytes.length; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    a = Math.imul(a ^ byte, 0x01000193);
    b = (Math.imul(b ^ byte, 0x5bd1e995) + 0x27d4eb2f) | 0;
  }
  return (BigInt(mix(a ^ b)) << 32n) | BigInt(mix(b + Math.imul(a, 31)));
};
