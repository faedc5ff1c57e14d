import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { JsonValue } from '@bufbuild/protobuf';
import {
  type CloudEvent_CloudEventAttributeValue,
  CloudEvent_CloudEventAttributeValueSchema,
  CloudEventSchema,
} from '../../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import { type Attributes, dataRefOf, described, jsonSchemaOf } from './cloud-event.js';

/** How the data of events is given to others; what lies beside the log is brought in. */
export interface Presenting {
  /**
   * In the interface's JSON mapping, with the messages that it carries opened.
   *
   * @throws {UnknownEvent} when this release does not know the type.
   */
  json(event: RecordedEvent): Promise<JsonValue>;
  /** The stored message. */
  message(event: RecordedEvent): Promise<Uint8Array>;
}

/** The event formats of CloudEvents that are published. */
export const EXPORT_FORMATS = ['json', 'protobuf'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What is sent to a topic. */
export type Outgoing = {
  readonly category: string;
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly position: bigint;
  readonly recordedAtMs: number;
};

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  json: 'application/cloudevents+json; charset=UTF-8',
  protobuf: 'application/cloudevents+protobuf',
};

/** What a record has beside its key and value, in bytes, at most: headers, lengths, and the batch around it. */
const RECORD_BYTES = 512;

/** The bytes that a message takes in a request, at most. */
export const sizeOf = ({ key, value }: Pick<Outgoing, 'key' | 'value'>): number =>
  value.length + key.length + RECORD_BYTES;

/** Either what an event says or where it says it. */
type Content =
  | { readonly dataref: string }
  | { readonly json: JsonValue; readonly dataschema: string }
  | { readonly message: Uint8Array; readonly dataschema: string };

const jsonEvent = (attributes: Attributes, content: Content): Buffer => {
  const about = { specversion: '1.0', ...attributes };
  if ('dataref' in content) return Buffer.from(JSON.stringify({ ...about, dataref: content.dataref }));
  if ('message' in content) throw new TypeError('data in JSON is expected');
  const { json: data, dataschema } = content;
  return Buffer.from(JSON.stringify({ ...about, datacontenttype: 'application/json', dataschema, data }));
};

const valueOf = (attr: CloudEvent_CloudEventAttributeValue['attr']): CloudEvent_CloudEventAttributeValue =>
  create(CloudEvent_CloudEventAttributeValueSchema, { attr });

const protobufEvent = ({ id, source, type, time, ...others }: Attributes, content: Content): Buffer => {
  const attributes = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [name, valueOf({ case: 'ceString', value })]),
  );
  attributes['time'] = valueOf({ case: 'ceTimestamp', value: timestampFromDate(new Date(time)) });
  if ('dataref' in content) attributes['dataref'] = valueOf({ case: 'ceUriRef', value: content.dataref });
  if ('dataschema' in content) {
    attributes['dataschema'] = valueOf({ case: 'ceUri', value: content.dataschema });
    attributes['datacontenttype'] = valueOf({ case: 'ceString', value: 'application/protobuf' });
  }
  const event = create(CloudEventSchema, { id, source, specVersion: '1.0', type, attributes });
  if ('message' in content) {
    event.data = {
      case: 'protoData',
      value: { $typeName: 'google.protobuf.Any', typeUrl: typeUrlOf(type), value: content.message },
    };
  }
  return Buffer.from(toBinary(CloudEventSchema, event));
};

const typeUrlOf = (type: string): string => `type.googleapis.com/${type}`;

const ENCODERS: Readonly<Record<ExportFormat, (attributes: Attributes, content: Content) => Buffer>> = {
  json: jsonEvent,
  protobuf: protobufEvent,
};

/** What messages are made with. */
export type MessageOptions = {
  readonly logId: string;
  readonly format: ExportFormat;
  readonly presenting: Presenting;
  /** The largest message that the topic of a category takes, in bytes. */
  readonly maxBytes: (category: string) => number;
};

const contentOf = async (
  event: RecordedEvent,
  { type }: Attributes,
  schema: number,
  { format, presenting }: MessageOptions,
): Promise<Content> =>
  format === 'json'
    ? { json: await presenting.json(event), dataschema: jsonSchemaOf(event.type, schema) }
    : { message: await presenting.message(event), dataschema: typeUrlOf(type) };

/** An event as a message: a CloudEvent in structured mode. One that is too large for its topic goes without its data. */
export const messageOf = async (event: RecordedEvent, options: MessageOptions): Promise<Outgoing> => {
  const { format, logId, maxBytes } = options;
  const { attributes, metadata } = described(event, logId);
  const category = categoryOf(event.stream);
  const encode = ENCODERS[format];
  const message = (value: Buffer): Outgoing => ({
    category,
    key: attributes.partitionkey,
    value,
    headers: { 'content-type': CONTENT_TYPES[format], ce_id: attributes.id, ce_type: attributes.type },
    position: event.position,
    recordedAtMs: metadata.recordedAtMs,
  });
  const whole = message(encode(attributes, await contentOf(event, attributes, metadata.schema, options)));
  if (sizeOf(whole) <= maxBytes(category)) return whole;
  return message(encode(attributes, { dataref: dataRefOf(logId, event) }));
};
