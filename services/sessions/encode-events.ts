import type { Aggregate } from '../kernel/aggregate.js';
import type { EventMetadata, NewEvent } from '../kernel/event.js';
import type { Idempotency } from '../kernel/idempotency.js';
import { eventIds } from './event-id.js';
import type { CommandTurn, Decided } from './turn.js';

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
export type Encoded = { readonly encoded: readonly NewEvent[]; readonly about: EventMetadata };

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
export const targetOf = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, { command }: CommandTurn<C, R>): string =>
  aggregate.targetOf?.(command) ?? '';

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/**
 * Makes the metadata of the events of a command. It is assigned field by field, because it is made for every command and
 * a spread costs several times as much.
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
    Object.assign(metadata, keyOf(idempotency, targetOf(aggregate, turn)));
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
  const about = metadataFor(aggregate, turn, refusal, recordedAtMs);
  const metadata = JSON.stringify(about);
  const ids = eventIds(turn.context.commandId, events.length);
  const encoded: NewEvent[] = [];
  for (const [index, id] of ids.entries()) {
    const event = events[index];
    if (event === undefined) continue;
    const { type, data } = aggregate.codec.encode(event, format);
    encoded.push({ id, type, data, metadata });
  }
  return { encoded, about };
};
