import type { DescMessage, MessageShape } from '@bufbuild/protobuf';

import { digestOf } from './encoding/digest.js';
import { sha256Hex } from './encoding/hash.js';
import type { EventMetadata } from './event.js';

/** A request with an idempotency key: the client can send it again without repeating its effect. */
export type Idempotency = {
  readonly key: string;
  /** The RPC. */
  readonly operation: string;
  /** Hash of the request's content, in hexadecimal. */
  readonly content: string;
};

/** Maximum length of a key, in characters. */
export const MAX_KEY = 256;

/** Minimum time in milliseconds for which a key is remembered. */
const REMEMBERED_MS = 24 * 60 * 60 * 1_000;

/** SHA-256 of a request's content in hexadecimal, whatever the order of its maps. */
export const contentHashOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string =>
  Buffer.from(digestOf(schema, message)).toString('hex');

/** The idempotency keys of one stream, oldest first, each with the content hash and the time of its request. */
export type KnownKeys = Map<string, { readonly content: string; readonly recordedAtMs: number }>;

const KEY_BYTES = 300;
/** A longer name, in characters, is remembered by its hash: targets have ids that clients choose. */
const MAX_NAME = 150;

/** Approximate memory of the keys, in bytes. */
export const sizeOfKeys = (known: KnownKeys): number => known.size * KEY_BYTES;

/**
 * A key is unique per caller, operation and target: what the command changes within its stream, such as a node; empty
 * when that is the whole stream.
 */
const nameOf = (actor: string, target: string, { operation, key }: Pick<Idempotency, 'operation' | 'key'>): string => {
  const name = JSON.stringify([actor, operation, target, key]);
  return name.length > MAX_NAME ? sha256Hex(name) : name;
};

/** Remembers the key that an event was recorded with, and drops expired keys; does nothing for an event without one. */
export const noteKey = (
  known: KnownKeys,
  { actor, idempotencyKey, idempotency, recordedAtMs }: EventMetadata,
): void => {
  if (idempotencyKey === undefined || idempotency === undefined) return;
  const { operation, target, content } = idempotency;
  known.set(nameOf(actor, target, { operation, key: idempotencyKey }), { content, recordedAtMs });
  for (const [name, oldest] of known) {
    if (oldest.recordedAtMs + REMEMBERED_MS >= recordedAtMs) return;
    known.delete(name);
  }
};

/** Looks up a request's key: not used yet (`none`), used with the same request, or used with another one. */
export const previousUse = (
  known: KnownKeys,
  actor: string,
  target: string,
  idempotency: Idempotency,
): 'none' | 'same' | 'another' => {
  const before = known.get(nameOf(actor, target, idempotency));
  if (before === undefined) return 'none';
  return before.content === idempotency.content ? 'same' : 'another';
};
