import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type CloudEvent_CloudEventAttributeValue,
  CloudEvent_CloudEventAttributeValueSchema,
  CloudEventSchema,
} from '../../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { copyOf, type JsonBytes, openJson, writeAscii, writeText } from '../../kernel/json-bytes.js';
import { categoryOf } from '../../kernel/stream.js';
import { type Attributes, dataRefOf, described, type Described, jsonSchemaOf } from './cloud-event.js';

/** How the data of events is given to others; what lies beside the log is brought in. */
export interface Presenting {
  /**
   * Written at the end of what is given, in the interface's JSON mapping, with the messages that it carries opened.
   *
   * @returns when it is not there at once, when it will be.
   * @throws {UnknownEvent} when this release does not know the type.
   */
  json(event: RecordedEvent, json: JsonBytes): Promise<void> | undefined;
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

/** Where the data of an event is, and what is said of it. */
type Content = { readonly dataref: string } | { readonly message: Uint8Array };

const valueOf = (attr: CloudEvent_CloudEventAttributeValue['attr']): CloudEvent_CloudEventAttributeValue =>
  create(CloudEvent_CloudEventAttributeValueSchema, { attr });

const protobufEvent = ({ id, source, type, time, ...others }: Attributes, content: Content): Buffer => {
  const attributes = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [name, valueOf({ case: 'ceString', value })]),
  );
  attributes['time'] = valueOf({ case: 'ceTimestamp', value: timestampFromDate(new Date(time)) });
  const typeUrl = `type.googleapis.com/${type}`;
  if ('dataref' in content) attributes['dataref'] = valueOf({ case: 'ceUriRef', value: content.dataref });
  else {
    attributes['dataschema'] = valueOf({ case: 'ceUri', value: typeUrl });
    attributes['datacontenttype'] = valueOf({ case: 'ceString', value: 'application/protobuf' });
  }
  // With all of its attributes, which it takes a copy of.
  const event = create(CloudEventSchema, { id, source, specVersion: '1.0', type, attributes });
  if ('message' in content)
    event.data = { case: 'protoData', value: { $typeName: 'google.protobuf.Any', typeUrl, value: content.message } };
  return Buffer.from(toBinary(CloudEventSchema, event));
};

/** What messages are made with. */
export type MessageOptions = {
  readonly logId: string;
  readonly format: ExportFormat;
  readonly presenting: Presenting;
  /** The largest message that the topic of a category takes, in bytes. */
  readonly maxBytes: (category: string) => number;
};

/** An event in one of the formats, with its data or with where that is. */
interface Encoding {
  whole(event: RecordedEvent, described: Described): Promise<Buffer> | Buffer;
  referring(attributes: Attributes, dataref: string): Buffer;
}

/** What one large event has been written to is not kept for the next. */
const KEPT_BYTES = 1024 * 1024;

const jsonHead = (attributes: Attributes): string => `{"specversion":"1.0",${JSON.stringify(attributes).slice(1, -1)}`;

const inJson = (presenting: Presenting): Encoding => {
  let kept = openJson();
  return {
    whole: (event, { attributes, metadata }) => {
      const json = kept.bytes.length > KEPT_BYTES ? openJson() : kept;
      kept = json;
      json.length = 0;
      writeText(json, jsonHead(attributes));
      const dataschema = jsonSchemaOf(event.type, metadata.schema);
      writeAscii(json, `,"datacontenttype":"application/json","dataschema":"${dataschema}","data":`);
      const value = (): Buffer => {
        writeAscii(json, '}');
        return copyOf(json);
      };
      return presenting.json(event, json)?.then(value) ?? value();
    },
    referring: (attributes, dataref) => Buffer.from(`${jsonHead(attributes)},"dataref":${JSON.stringify(dataref)}}`),
  };
};

const inProtobuf = (presenting: Presenting): Encoding => ({
  whole: async (event, { attributes }) => protobufEvent(attributes, { message: await presenting.message(event) }),
  referring: (attributes, dataref) => protobufEvent(attributes, { dataref }),
});

const ENCODINGS: Readonly<Record<ExportFormat, (presenting: Presenting) => Encoding>> = {
  json: inJson,
  protobuf: inProtobuf,
};

/** Makes messages of events, one after another. */
export type MessageMaker = (event: RecordedEvent) => Promise<Outgoing>;

/** Events as messages: CloudEvents in structured mode. One that is too large for its topic goes without its data. */
export const messageMaker = ({ format, logId, presenting, maxBytes }: MessageOptions): MessageMaker => {
  const encoding = ENCODINGS[format](presenting);
  return async (event) => {
    const about = described(event, logId);
    const { attributes, metadata } = about;
    const category = categoryOf(event.stream);
    const message = (value: Buffer): Outgoing => ({
      category,
      key: attributes.partitionkey,
      value,
      headers: { 'content-type': CONTENT_TYPES[format], ce_id: attributes.id, ce_type: attributes.type },
      position: event.position,
      recordedAtMs: metadata.recordedAtMs,
    });
    const whole = message(await encoding.whole(event, about));
    if (sizeOf(whole) <= maxBytes(category)) return whole;
    return message(encoding.referring(attributes, dataRefOf(logId, event)));
  };
};
