import { CorruptEvent } from './fault.js';
import type { StreamName } from './stream.js';

/** 16 bytes, derived from the command, so that a retry of the same command makes the same ids. */
export type EventId = Uint8Array;

/** The caller, the request and the time of an event. Stored as JSON beside the event. */
export type EventMetadata = {
  /** Milliseconds since 1970; never less than in the previous event of the stream. */
  readonly recordedAtMs: number;
  /** The authenticated caller, or the name under which the process itself sent the command; empty without either. */
  readonly actor: string;
  readonly commandId: string;
  /** Schema version of the event's data; so far always 1. */
  readonly schema: number;
  readonly $correlationId?: string;
  readonly $causationId?: string;
  /** W3C trace context of the request, where it had one. */
  readonly traceparent?: string;
  /** The idempotency key of the request. */
  readonly idempotencyKey?: string;
  /** The request behind the key: the RPC, its target within the stream, and a hash of the request's content. */
  readonly idempotency?: { readonly operation: string; readonly target: string; readonly content: string };
};

/** An event to be appended. */
export type NewEvent = {
  readonly id: EventId;
  /** The message name in `platformidl.eventlog`, such as `ExecutionCreated`. */
  readonly type: string;
  readonly data: Uint8Array;
  /** JSON of an `EventMetadata`. */
  readonly metadata: string;
};

/** An event as it is stored in the log. */
export type RecordedEvent = NewEvent & {
  readonly stream: StreamName;
  /** Position in the stream: from 0, without gaps. */
  readonly revision: bigint;
  /** Position in the log: ascending, but with gaps in some stores, so it must not be used to count events. */
  readonly position: bigint;
};

/** The end of the year 9999, in milliseconds since 1970. A message holds no later time. */
export const LAST_MS = 253_402_300_799_999;

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LAST_MS;

const isOfControlPlane = (value: unknown): value is EventMetadata => {
  const { recordedAtMs, actor, commandId, schema } = (value ?? {}) as Partial<Record<keyof EventMetadata, unknown>>;
  return isTime(recordedAtMs) && typeof actor === 'string' && typeof commandId === 'string' && Number.isInteger(schema);
};

const parsed = (metadata: string): unknown => {
  try {
    return JSON.parse(metadata);
  } catch {
    return undefined;
  }
};

/**
 * Reads the metadata of an event that a control plane recorded.
 *
 * @throws {CorruptEvent} when no control plane can have recorded the metadata: another program or a defect wrote them.
 */
export const metadataOf = ({ metadata }: Pick<NewEvent, 'metadata'>): EventMetadata => {
  const read = parsed(metadata);
  if (!isOfControlPlane(read)) throw new CorruptEvent('the metadata of the event cannot be decoded');
  return read;
};

const NUMBERS: ReadonlySet<string> = new Set(['recordedAtMs', 'schema'] satisfies (keyof EventMetadata)[]);

/** Metadata without the field that is neither a text nor a number. */
type PlainMetadata = Partial<Omit<EventMetadata, 'idempotency'>>;

const fieldsOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];

/** The texts and numbers of metadata; nothing where it is no JSON object. */
const plainFields = (metadata: string): PlainMetadata =>
  Object.fromEntries(
    fieldsOf(parsed(metadata)).filter(([name, value]) => typeof value === (NUMBERS.has(name) ? 'number' : 'string')),
  );

/**
 * Reads the metadata of an event that another program may have written: other programs can append to the log in an
 * event store, with any metadata or none. Fields whose values have the wrong type are left out, and so is a time that a
 * message cannot hold.
 */
export const metadataOfAny = ({ metadata }: Pick<NewEvent, 'metadata'>): PlainMetadata => {
  const { recordedAtMs, ...others } = plainFields(metadata);
  return isTime(recordedAtMs) ? { ...others, recordedAtMs } : others;
};

/**
 * The time at which a control plane recorded an event, in milliseconds since 1970. `undefined` for an event of another
 * writer, recognized by its lack of a `commandId`: its time may have another unit or be any number.
 */
export const ownTimeOf = (event: Pick<NewEvent, 'metadata'>): number | undefined => {
  const { commandId, recordedAtMs } = metadataOfAny(event);
  return commandId === undefined ? undefined : recordedAtMs;
};

/** Marks the schema in the metadata JSON. Quotes inside JSON strings are escaped, so no string value contains it. */
const SCHEMA = '"schema":';

/** Reads only the schema of an event, at a tenth of the cost of parsing its metadata. */
export const schemaOf = (event: Pick<NewEvent, 'metadata'>): EventMetadata['schema'] => {
  const at = event.metadata.indexOf(SCHEMA);
  const schema = at < 0 ? Number.NaN : Number.parseInt(event.metadata.slice(at + SCHEMA.length, at + 20), 10);
  return Number.isNaN(schema) ? metadataOf(event).schema : schema;
};
