import { entityOf, type EngineReport, executionCodec, flatFields } from '../../execution/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';

/** An event as a row of a file; the keys are the names of the columns. A field that an event does not have is absent. */
export type EventRow = {
  readonly position: bigint;
  readonly event_id: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
  readonly schema_version: number;
  /** By the engine's clock for its reports; the same as `recorded_at` for other events. Microseconds since 1970. */
  readonly occurred_at: bigint;
  /** By the clock of the control plane, in microseconds since 1970. */
  readonly recorded_at: bigint;
  readonly project?: string;
  readonly domain?: string;
  readonly execution?: string;
  readonly node?: string;
  readonly attempt?: number;
  readonly phase?: string;
  readonly actor?: string;
  readonly command_id: string;
  readonly correlation_id?: string;
  readonly causation_id?: string;
  /** The JSON of the event's data, as UTF-8. */
  readonly body: Uint8Array;
};

/** Encodes events for the rows of files. */
export type RowPresenting = {
  /** The JSON of the event's data: the same for every consumer. */
  readonly json: (event: RecordedEvent) => Promise<Uint8Array>;
  readonly idText: (id: Uint8Array) => string;
};

const MICROS_PER_MS = 1_000n;

const occurredAt = (event: RecordedEvent, recordedAt: bigint): bigint => {
  if (entityOf(event.type, event.data) === undefined) return recordedAt;
  const { seconds, nanos } = (decodeEvent(executionCodec, event).data as EngineReport).occurredAt;
  return seconds * 1_000_000n + BigInt(Math.floor(nanos / 1_000));
};

/**
 * Makes the row of an event.
 *
 * @throws {UnknownEvent} when this release does not know the event's type.
 * @throws {CorruptEvent} or {StreamParked} when the data cannot be decoded.
 * @throws {StoreUnavailable} when a payload beside the log cannot be read now.
 */
export const rowOf = async (event: RecordedEvent, { json, idText }: RowPresenting): Promise<EventRow> => {
  const { recordedAtMs, actor, commandId, schema, $correlationId, $causationId } = metadataOf(event);
  const recordedAt = BigInt(recordedAtMs) * MICROS_PER_MS;
  return {
    position: event.position,
    event_id: idText(event.id),
    stream: event.stream,
    revision: event.revision,
    type: event.type,
    schema_version: schema,
    occurred_at: occurredAt(event, recordedAt),
    recorded_at: recordedAt,
    command_id: commandId,
    body: await json(event),
    ...flatFields(event),
    ...(actor !== '' && { actor }),
    ...($correlationId !== undefined && { correlation_id: $correlationId }),
    ...($causationId !== undefined && { causation_id: $causationId }),
  };
};

/** The date on which the event was recorded, in UTC, such as `2026-03-02`. */
export const dateOf = ({ recorded_at: micros }: Pick<EventRow, 'recorded_at'>): string =>
  new Date(Number(micros / MICROS_PER_MS)).toISOString().slice(0, 10);
