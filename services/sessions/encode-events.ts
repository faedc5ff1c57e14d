import type { Aggregate } from '../kernel/aggregate.js';
import type { EventMetadata, NewEvent } from '../kernel/event.js';
import type { Idempotency } from '../kernel/idempotency.js';
import { eventIds } from './event-id.js';
import type { CommandTurn, Decided } from './turn.js';

const SCHEMA = 1;

/** The time of an encoding, in milliseconds since 1970, and the log format to write. */
export type Recording = { readonly recordedAtMs: number; readonly format: number | undefined };

/** The events of a command as they are appended, and the metadata that they share. */
export type Encoded = { readonly encoded: readonly NewEvent[]; readonly about: EventMetadata };

const keyOf = (
  { key, operation, content }: Idempotency,
  target: string,
): Pick<EventMetadata, 'idempotencyKey' | 'idempotency'> => ({
  idempotencyKey: key,
  idempotency: { operation, target, content },
});

/** The subject of a command within its stream. */
export const targetOf = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, { command }: CommandTurn<C, R>): string =>
  aggregate.targetOf?.(command) ?? '';

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** Assigned field by field, because every event passes through here and a spread costs several times as much. */
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

/** Encodes the events of a command. Their ids derive from the command's, so that a repeat has the same. */
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
