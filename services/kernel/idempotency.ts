import type { DescMessage, MessageShape } from '@bufbuild/protobuf';

import { digestOf } from './encoding/digest.js';
import type { EventMetadata } from './event.js';

/** A request that its caller has a key for, so that it can be sent again without being done again. */
export type Idempotency = {
  readonly key: string;
  /** The RPC. */
  readonly operation: string;
  /** A hash of what the request says, in hexadecimal. */
  readonly content: string;
};

/** In characters. */
export const MAX_KEY = 256;

/** How long a key stands for its request at least, in milliseconds. */
const REMEMBERED_MS = 24 * 60 * 60 * 1_000;

/** A hash of what a request says, in hexadecimal, whatever the order of its maps. */
export const contentOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string =>
  Buffer.from(digestOf(schema, message)).toString('hex');

/** What keys stand for in one stream. */
export type KnownKeys = Map<string, { readonly content: string; readonly recordedAtMs: number }>;

const KEY_BYTES = 300;

/** What keys take in memory, roughly, in bytes. */
export const sizeOfKeys = (known: KnownKeys): number => known.size * KEY_BYTES;

/** The same caller, operation and target: keys of others are others. */
const nameOf = (actor: string, target: string, { operation, key }: Pick<Idempotency, 'operation' | 'key'>): string =>
  JSON.stringify([actor, operation, target, key]);

/** Notes the key that an event was recorded with, if any, and forgets those that have stood long enough. */
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

/** Whether a request was recorded before under its key, or its key stands for another. */
export const priorUse = (
  known: KnownKeys,
  actor: string,
  target: string,
  idempotency: Idempotency,
): 'none' | 'same' | 'another' => {
  const before = known.get(nameOf(actor, target, idempotency));
  if (before === undefined) return 'none';
  return before.content === idempotency.content ? 'same' : 'another';
};
