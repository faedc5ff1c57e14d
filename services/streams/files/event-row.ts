import { type EngineReport, reportedEntity, flatFields } from '../../execution/events.js';
import type { EventCodec } from '../../kernel/aggregate.js';
import { uuidText } from '../../kernel/encoding/id-text.js';
import { type EventMetadata, metadataOf, metadataOfAny, type RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable, UnknownEvent } from '../../kernel/fault.js';
import { categoryOf } from '../../kernel/stream.js';
import { errorText } from '../../kernel/error-text.js';

/**
 * An event as a row of a file; the keys are the names of the columns. A field that an event does not have is absent.
 */
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
  readonly attempt?: bigint;
  readonly phase?: string;
  readonly actor?: string;
  readonly command_id: string;
  readonly correlation_id?: string;
  readonly causation_id?: string;
  /** The JSON of the event's data, as UTF-8; of an unreadable event, its bytes as a JSON string in base64. */
  readonly body: Uint8Array;
  /**
   * The reason why the event cannot be read; read models park its stream. The row then has only fields that the log
   * itself and the metadata give.
   */
  readonly unreadable?: string;
};

type Codecs = RowEncoder['codecs'];

/** Encodes events for the rows of files. */
export type RowEncoder = {
  /** The JSON of the event's data: the same for every consumer. */
  readonly json: (event: RecordedEvent) => Promise<Uint8Array>;
  /** The codec of the events of each category. */
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
};

const MICROS_PER_MS = 1_000n;

const subjectOf = (event: RecordedEvent) => {
  const { attempt, ...fields } = flatFields(event);
  return { ...fields, ...(attempt !== undefined && { attempt: BigInt(attempt) }) };
};

/** @throws {UnknownEvent} when this release does not know the category, the type or its schema. */
const decoded = (
  { stream, position, type, data }: RecordedEvent,
  { schema }: EventMetadata,
  codecs: Codecs,
): unknown => {
  const codec = codecs.get(categoryOf(stream));
  if (codec === undefined)
    throw new UnknownEvent(
      `stream ${stream} at position ${position}: this release does not know its category; use the newest release, or name a category of other programs with --foreign`,
    );
  return codec.decode(type, data, schema);
};

const occurredAt = (event: RecordedEvent, read: unknown, recordedAt: bigint): bigint => {
  if (reportedEntity(event.type, event.data) === undefined) return recordedAt;
  const { seconds, nanos } = (read as { readonly data: EngineReport }).data.occurredAt;
  return seconds * 1_000_000n + BigInt(Math.floor(nanos / 1_000));
};

const placeOf = (event: RecordedEvent) => ({
  position: event.position,
  event_id: uuidText(event.id),
  stream: event.stream,
  revision: event.revision,
  type: event.type,
});

const readableRow = async (event: RecordedEvent, encoder: RowEncoder): Promise<EventRow> => {
  const metadata = metadataOf(event);
  const { recordedAtMs, actor, commandId, schema, $correlationId, $causationId } = metadata;
  const recordedAt = BigInt(recordedAtMs) * MICROS_PER_MS;
  return {
    ...placeOf(event),
    schema_version: schema,
    occurred_at: occurredAt(event, decoded(event, metadata, encoder.codecs), recordedAt),
    recorded_at: recordedAt,
    command_id: commandId,
    body: await encoder.json(event),
    ...subjectOf(event),
    ...(actor !== '' && { actor }),
    ...($correlationId !== undefined && { correlation_id: $correlationId }),
    ...($causationId !== undefined && { causation_id: $causationId }),
  };
};

/** The row of an event that cannot be read. An event without a time has 1970-01-01T00:00:00Z. */
const parkedRow = (event: RecordedEvent, reason: unknown): EventRow => {
  const { recordedAtMs = 0, schema = 0, commandId = '' } = metadataOfAny(event);
  const recordedAt = BigInt(recordedAtMs) * MICROS_PER_MS;
  return {
    ...placeOf(event),
    schema_version: Object.is(schema | 0, schema) ? schema : 0, // the column has 32 bits
    occurred_at: recordedAt,
    recorded_at: recordedAt,
    command_id: commandId,
    body: Buffer.from(JSON.stringify(Buffer.from(event.data).toString('base64'))),
    unreadable: errorText(reason),
  };
};

/** True when a newer release or a later run may read the event. */
const mayBeReadLater = (error: unknown): boolean => error instanceof UnknownEvent || error instanceof StoreUnavailable;

/**
 * Makes the row of an event. A damaged event gets a row that says why it cannot be read.
 *
 * @throws {UnknownEvent} when this release does not know the event's category, type or schema.
 * @throws {StoreUnavailable} when a payload beside the log cannot be read now.
 */
export const rowOf = async (event: RecordedEvent, encoder: RowEncoder): Promise<EventRow> => {
  try {
    return await readableRow(event, encoder);
  } catch (error) {
    if (mayBeReadLater(error)) throw error;
    return parkedRow(event, error);
  }
};

/** The date on which the event was recorded, in UTC, such as `2026-03-02`. */
export const dateOf = ({ recorded_at: micros }: Pick<EventRow, 'recorded_at'>): string =>
  new Date(Number(micros / MICROS_PER_MS)).toISOString().slice(0, 10);
