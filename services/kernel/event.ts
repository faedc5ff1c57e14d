import type { StreamName } from './stream.js';

/** 16 bytes, derived from the command: the same command again makes the same ids. */
export type EventId = Uint8Array;

/** Who recorded an event, with what request, and when. Stored as JSON beside the event. */
export type EventMetadata = {
  /** Milliseconds since 1970, never below those of the event before it in its stream. */
  readonly recordedAtMs: number;
  /** The authenticated caller; empty where there is no authentication. */
  readonly actor: string;
  readonly commandId: string;
  /** The shape of the event's data; older ones are lifted when read. */
  readonly schema: number;
  readonly $correlationId?: string;
  readonly $causationId?: string;
  /** The caller's own name for the request. */
  readonly idempotencyKey?: string;
  /** What that stands for: an RPC, what it is about within the stream, and a hash of what it says. */
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

/** An event as the log has it. */
export type RecordedEvent = NewEvent & {
  readonly stream: StreamName;
  /** Place in the stream, from 0, dense. */
  readonly revision: bigint;
  /** Place in the log, ascending; never count events with it. */
  readonly position: bigint;
};

/** Reads the metadata of an event. */
export const metadataOf = (event: Pick<NewEvent, 'metadata'>): EventMetadata =>
  JSON.parse(event.metadata) as EventMetadata;

/** Where the schema stands in JSON: a quote inside a text has a backslash before it, so no text has this in it. */
const SCHEMA = '"schema":';

/** The schema of an event alone, at a tenth of the price of its metadata. */
export const schemaOf = (event: Pick<NewEvent, 'metadata'>): EventMetadata['schema'] => {
  const at = event.metadata.indexOf(SCHEMA);
  const schema = at < 0 ? Number.NaN : Number.parseInt(event.metadata.slice(at + SCHEMA.length, at + 20), 10);
  return Number.isNaN(schema) ? metadataOf(event).schema : schema;
};
