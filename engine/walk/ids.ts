const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const LONGEST_ID = 20;
const EXECUTION_NAME = /^[a-z][a-z0-9-]*$/;

/** 32-bit FNV-1a over the UTF-8 bytes of a text. */
export const fnv32 = (text: string): number => {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
};

const fnv64 = (text: string): bigint => {
  let value = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  return value;
};

/** Encodes an integer of `bits` bits as base32 without padding, most significant bits first. */
const base32 = (value: bigint, bits: number): string => {
  const digits = Math.ceil(bits / 5);
  const aligned = value << BigInt(digits * 5 - bits);
  return Array.from({ length: digits }, (_, index) =>
    ALPHABET.charAt(Number((aligned >> BigInt((digits - 1 - index) * 5)) & 31n)),
  ).join('');
};

/**
 * The attempt, from 0, of a node that contains a graph or launches a child execution, as part of the ids below that
 * node. This engine retries tasks, but no such nodes.
 */
export const PARENT_ATTEMPT = 0;

/**
 * The id of a node in its execution. At the top level it is the template's id; below, that is joined with the parent's
 * id and attempt, and hashed when the whole is longer than 20 characters.
 */
export const uniqueNodeId = (parent: string, attempt: number, specNodeId: string): string => {
  if (!parent) return specNodeId;
  const joined = `${parent}-${attempt}-${specNodeId}`;
  return joined.length <= LONGEST_ID ? joined : `f${base32(BigInt(fnv32(joined)), 32)}`;
};

/**
 * The name of a child execution. It depends only on the arguments, so another engine that walks the node gets the same
 * name.
 */
export const childExecutionName = (execution: string, ...parts: readonly (string | number)[]): string => {
  const joined = [execution, ...parts].join('-');
  const isShort = joined.length <= LONGEST_ID && EXECUTION_NAME.test(joined);
  return isShort ? joined : `f${base32(fnv64(joined), 64)}`;
};
