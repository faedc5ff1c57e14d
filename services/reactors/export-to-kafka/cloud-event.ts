import { type FlatFields, flatFields } from '../../execution/events.js';
import { type EventMetadata, metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { Subject } from './subject.js';

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
  readonly actor: string | undefined;
  readonly correlationid: string | undefined;
  readonly causationid: string | undefined;
  readonly project: string | undefined;
  readonly domain: string | undefined;
  readonly execution: string | undefined;
  readonly node: string | undefined;
  readonly attempt: string | undefined;
  readonly phase: string | undefined;
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

/** Where the data of an event can be had that is published without. */
export const dataRefOf = (logId: string, { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): string =>
  `${sourceOf(logId)}:${stream}:${revision}`;

/** The JSON schema of the data of an event; `docs/events` has it. */
export const jsonSchemaOf = (type: string, schema: number): string =>
  `urn:flightlog:schema:${EVENT_PACKAGE}.${type}:${schema}`;

/** An event, as far as it can be told without its data. */
export type Described = {
  readonly attributes: Attributes;
  readonly metadata: EventMetadata;
  readonly subject: Subject;
};

/** Attributes go with every message and are held in memory by brokers and routers. */
const MAX_ATTRIBUTE_LENGTH = 256;

const short = (value: string | undefined): string | undefined =>
  value !== undefined && value.length <= MAX_ATTRIBUTE_LENGTH ? value : undefined;

/** What an event of an execution is about; a text that is not short stands in the data alone. */
const flatAttributes = (event: RecordedEvent): Pick<Attributes, keyof FlatFields> => {
  const { project, domain, execution, node, attempt, phase } = flatFields(event);
  return {
    project: short(project),
    domain: short(domain),
    execution: short(execution),
    node: short(node),
    attempt: attempt?.toString(),
    phase,
  };
};

/** What is said about an event beside its data: the same for the same event, however often it is published. */
export const described = (event: RecordedEvent, subject: Subject, logId: string): Described => {
  const metadata = metadataOf(event);
  const attributes = {
    id: uuidText(event.id),
    source: sourceOf(logId),
    type: `${EVENT_PACKAGE}.${event.type}`,
    subject: subject.entity,
    time: new Date(metadata.recordedAtMs).toISOString(),
    sequence: event.revision.toString().padStart(SEQUENCE_DIGITS, '0'),
    stream: event.stream,
    position: event.position.toString(),
    partitionkey: subject.entity,
    commandid: metadata.commandId,
    actor: metadata.actor === '' ? undefined : metadata.actor,
    correlationid: metadata.$correlationId,
    causationid: metadata.$causationId,
    ...flatAttributes(event),
  };
  return { attributes, metadata, subject };
};
