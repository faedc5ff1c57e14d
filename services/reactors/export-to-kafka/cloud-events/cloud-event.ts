import { uuidText } from '../../../kernel/encoding/id-text.js';
import { type FlatFields, flatFields } from '../../../execution/events.js';
import type { EventMetadata, RecordedEvent } from '../../../kernel/event.js';
import type { StreamAttributes } from './stream-attributes.js';

/** The package of the messages in which events are stored; their full names are the published event types. */
export const EVENT_PACKAGE = 'platformidl.eventlog';

/** Kafka and JSON have no unsigned 64-bit number; decimal texts of equal length sort like their numbers. */
const SEQUENCE_DIGITS = 20;

/** The context attributes of a CloudEvent 1.0, including extensions. */
export type ContextAttributes = {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  /** Time at which the event was recorded, or the start of 1970 where it names none: RFC 3339, in UTC. */
  readonly time: string;
  /** The revision in the stream, padded to 20 digits, so that it sorts as text in the order of the events. */
  readonly sequence: string;
  readonly stream: string;
  /** The position in the log. */
  readonly position: string;
  readonly partitionkey: string;
  readonly commandid: string | undefined;
  readonly actor: string | undefined;
  readonly correlationid: string | undefined;
  readonly causationid: string | undefined;
  /** https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/distributed-tracing.md */
  readonly traceparent: string | undefined;
  readonly project: string | undefined;
  readonly domain: string | undefined;
  readonly execution: string | undefined;
  readonly node: string | undefined;
  readonly attempt: string | undefined;
  readonly phase: string | undefined;
};

/** The URN of a log, as the source of events. */
const sourceOf = (logId: string): string => `urn:flightlog:log:${logId}`;

/** Reference to the data of an event that is published without its data. */
export const dataRefOf = (logId: string, { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): string =>
  `${sourceOf(logId)}:${stream}:${revision}`;

/** Name of the JSON schema of an event's data; the schemas are in `docs/events`. */
export const jsonSchemaOf = (type: string, schema: number): string =>
  `urn:flightlog:schema:${EVENT_PACKAGE}.${type}:${schema}`;

/** Everything about an event except its data. */
export type CloudEventAttributes = {
  readonly attributes: ContextAttributes;
  readonly metadata: EventMetadata;
  readonly stream: StreamAttributes;
};

/**
 * Maximum length of an attribute that names the execution or its node, in characters: attributes go with every message,
 * and brokers and routers hold them in memory.
 */
const MAX_ATTRIBUTE_LENGTH = 256;

/** CloudEvents asks for attributes that are not empty. */
const filled = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

const short = (value: string | undefined): string | undefined =>
  value !== undefined && value.length <= MAX_ATTRIBUTE_LENGTH ? value : undefined;

/** Attributes of an event of an execution. Texts that are too long for an attribute are only in the data. */
const flatAttributes = (event: RecordedEvent): Pick<ContextAttributes, keyof FlatFields> => {
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

/** Describes an event without its data. The result is the same for the same event, however often it is published. */
export const described = (
  event: RecordedEvent,
  metadata: EventMetadata,
  stream: StreamAttributes,
  logId: string,
): CloudEventAttributes => {
  const attributes = {
    id: uuidText(event.id),
    source: sourceOf(logId),
    type: `${EVENT_PACKAGE}.${event.type}`,
    subject: stream.entity,
    time: new Date(metadata.recordedAtMs).toISOString(),
    sequence: event.revision.toString().padStart(SEQUENCE_DIGITS, '0'),
    stream: event.stream,
    position: event.position.toString(),
    partitionkey: stream.entity,
    commandid: filled(metadata.commandId),
    actor: filled(metadata.actor),
    correlationid: filled(metadata.$correlationId),
    causationid: filled(metadata.$causationId),
    traceparent: filled(metadata.traceparent),
    ...flatAttributes(event),
  };
  return { attributes, metadata, stream };
};
