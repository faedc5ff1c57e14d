import type { Aggregate } from '../kernel/aggregate.js';
import { sha256 } from '../kernel/encoding/hash.js';
import type { EventId, EventMetadata, NewEvent } from '../kernel/event.js';
import type { Idempotency } from '../kernel/idempotency.js';
import type { CommandTurn, Decided } from './turn.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

const DIGIT_0 = 48;
const LETTER_A = 97;

const valueOf = (digit: number): number => (digit < LETTER_A ? digit - DIGIT_0 : digit - LETTER_A + 10);

/** Parses digit by digit, because every command passes through here and a Buffer takes five times as long. */
const uuidBytes = (uuid: string): Uint8Array => {
  const bytes = new Uint8Array(16);
  let at = 0;
  for (let i = 0; i < uuid.length; i += 2) {
    if (uuid[i] === '-') i += 1;
    bytes[at++] = (valueOf(uuid.charCodeAt(i)) << 4) | valueOf(uuid.charCodeAt(i + 1));
  }
  return bytes;
};

/**
 * Makes the ids of the events that a command records, in order: the command's id with the index of the event added to
 * its last four bytes. A command id that is not a UUID is hashed to one first.
 */
export const eventIds = (commandId: string, count: number): readonly EventId[] => {
  const base = UUID.test(commandId) ? uuidBytes(commandId) : sha256(commandId).subarray(0, 16);
  const ids: EventId[] = [base];
  if (count < 2) return ids;
  const last = new DataView(base.buffer, base.byteOffset).getUint32(12);
  for (let index = 1; index < count; index += 1) {
    const id = base.slice();
    new DataView(id.buffer, id.byteOffset).setUint32(12, (last + index) >>> 0);
    ids.push(id);
  }
  return ids;
};

/** The schema version of all events so far; another one would mark events whose bytes have another meaning. */
const SCHEMA = 1;

/** The time and the log format with which events are recorded. */
export type Recording = {
  /** The time in their metadata, in milliseconds since 1970. */
  readonly recordedAtMs: number;
  /**
   * The log format, which decides the types of events that may be written: releases that know only older formats may
   * read the log too. `undefined` is the newest format.
   */
  readonly format: number | undefined;
};

/** The events of a command as they are appended, and the metadata that they share. */
export type Encoded = { readonly encoded: readonly NewEvent[]; readonly metadata: EventMetadata };

const keyOf = (
  { key, operation, content }: Idempotency,
  target: string,
): Pick<EventMetadata, 'idempotencyKey' | 'idempotency'> => ({
  idempotencyKey: key,
  idempotency: { operation, target, content },
});

/**
 * Names what a command changes within its stream, such as the version of a launch plan in the stream of its name; empty
 * when all commands of the stream change the same. An idempotency key applies to one target.
 */
export const commandTargetOf = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, { command }: CommandTurn<C, R>): string =>
  aggregate.targetOf?.(command) ?? '';

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/**
 * Makes the metadata of the events of a command. It is assigned field by field, because it is made for every command
 * and a spread costs several times as much.
 */
const metadataFor = <S, C, E, R>(
  aggregate: Aggregate<S, C, E, R>,
  turn: CommandTurn<C, R>,
  refusal: R | undefined,
  recordedAtMs: number,
): EventMetadata => {
  const { actor, commandId, correlationId, causationId, traceParent, idempotency } = turn.context;
  const metadata: Writable<EventMetadata> = { recordedAtMs, actor, commandId, schema: SCHEMA };
  if (correlationId !== undefined) metadata.$correlationId = correlationId;
  if (causationId !== undefined) metadata.$causationId = causationId;
  if (traceParent !== undefined) metadata.traceparent = traceParent;
  // The key of a refused command is not kept, not even when the refusal records an event.
  if (idempotency !== undefined && refusal === undefined)
    Object.assign(metadata, keyOf(idempotency, commandTargetOf(aggregate, turn)));
  return metadata;
};

/**
 * Encodes the events of a command, whose turn in the queue of its stream has come. Their ids derive from the id of
 * the command, so that a repeated command has the same.
 */
export const encodeEvents = <S, C, E, R>(
  aggregate: Aggregate<S, C, E, R>,
  turn: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
  { recordedAtMs, format }: Recording,
): Encoded => {
  const metadata = metadataFor(aggregate, turn, refusal, recordedAtMs);
  const metadataJson = JSON.stringify(metadata);
  const ids = eventIds(turn.context.commandId, events.length);
  const encoded: NewEvent[] = [];
  for (const [index, id] of ids.entries()) {
    const event = events[index];
    if (event === undefined) continue;
    const { type, data } = aggregate.codec.encode(event, format);
    encoded.push({ id, type, data, metadata: metadataJson });
  }
  return { encoded, metadata };
};
