import { type EventMetadata, metadataOf, type RecordedEvent } from '../../kernel/event.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';

/** The package of the messages that events are stored as; their names are the types of what is published. */
export const EVENT_PACKAGE = 'platformidl.eventlog';

/** Kafka and JSON have no unsigned 64-bit number; texts of one length have the order of their numbers. */
const SEQUENCE_DIGITS = 20;

/** The context attributes of a CloudEvent 1.0, those of extensions included. */
export type Attributes = {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  /** RFC 3339, in UTC: when the event was recorded. */
  readonly time: string;
  /** The revision in the stream, in 20 digits, so that the order of texts is the order of events. */
  readonly sequence: string;
  readonly stream: string;
  /** The place in the log. */
  readonly position: string;
  readonly partitionkey: string;
  readonly commandid: string;
  readonly actor?: string;
  readonly correlationid?: string;
  readonly causationid?: string;
};

const hex = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('hex');

/** 16 bytes as a UUID is written. */
export const uuidText = (id: Uint8Array): string => {
  const text = hex(id);
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
};

/** Names a log as the source of events. */
const sourceOf = (logId: string): string => `urn:flightlog:log:${logId}`;

/**
 * The thing that a stream is about: `flytesnacks/development/a1b2`. Its parts are encoded as in the name of the stream,
 * so that two things never share one.
 */
export const entityOf = (stream: StreamName): string =>
  stream.slice(categoryOf(stream).length + 1).replaceAll(':', '/');

/** Where the data of an event can be had that is published without. */
export const dataRefOf = (logId: string, { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): string =>
  `${sourceOf(logId)}:${stream}:${revision}`;

/** The JSON schema of the data of an event; `docs/events` has it. */
export const jsonSchemaOf = (type: string, schema: number): string =>
  `urn:flightlog:schema:${EVENT_PACKAGE}.${type}:${schema}`;

const caused = ({ actor, $correlationId: correlationid, $causationId: causationid }: EventMetadata) => ({
  ...(actor !== '' && { actor }),
  ...(correlationid !== undefined && { correlationid }),
  ...(causationid !== undefined && { causationid }),
});

/** What is said about an event beside its data: the same for the same event, however often it is published. */
const attributesOf = (event: RecordedEvent, metadata: EventMetadata, logId: string): Attributes => {
  const subject = entityOf(event.stream);
  return {
    id: uuidText(event.id),
    source: sourceOf(logId),
    type: `${EVENT_PACKAGE}.${event.type}`,
    subject,
    time: new Date(metadata.recordedAtMs).toISOString(),
    sequence: event.revision.toString().padStart(SEQUENCE_DIGITS, '0'),
    stream: event.stream,
    position: event.position.toString(),
    partitionkey: subject,
    commandid: metadata.commandId,
    ...caused(metadata),
  };
};

/** The attributes together with what else the metadata has. */
export type Described = { readonly attributes: Attributes; readonly metadata: EventMetadata };

/** What is said about an event. */
export const described = (event: RecordedEvent, logId: string): Described => {
  const metadata = metadataOf(event);
  return { attributes: attributesOf(event, metadata, logId), metadata };
};
