import { toBinary } from '@bufbuild/protobuf';
import { UUIDSchema } from '../../../../proto/gen/event_store/client/values_pb.js';
import { varintBytes, WireWriter, delimitedBytes } from '../../../kernel/encoding/wire-writer.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import { propertiesOf } from '../event-metadata.js';
import { createdText, type EventDataEncoder } from '../recorded.js';
import { type UuidForm, uuidOf } from '../uuid.js';

/** The tags of `ReadResp` and of the messages in it; a tag is field number and wire type in one. */
const ANSWER_EVENT = 0x0a;
const READ_EVENT = { event: 0x0a, commit: 0x18 } as const;
const RECORDED = { id: 0x0a, stream: 0x12, revision: 0x18, prepare: 0x20, commit: 0x28 } as const;
const PROPERTIES = { entry: 0x32, custom: 0x3a, data: 0x42 } as const;
const STREAM_NAME = 0x1a;
const [KEY, VALUE] = [0x0a, 0x12] as const;

const numeric = (value: number): number => 1 + varintBytes(value);

/** A text with its size in UTF-8, which is computed once. */
type Sized = { readonly text: string; readonly bytes: number };

const sized = (text: string): Sized => ({ text, bytes: Buffer.byteLength(text) });

const entryBytes = (key: string, value: Sized): number => delimitedBytes(key.length) + delimitedBytes(value.bytes);

const putEntry = (writer: WireWriter, key: string, value: Sized): void => {
  writer.tag(PROPERTIES.entry).varint(entryBytes(key, value)).tag(KEY).text(key, key.length);
  writer.tag(VALUE).text(value.text, value.bytes);
};

/** Encodes an event as an answer of a read, by hand because events are sent by the thousand. */
export const eventAnswer = async (event: RecordedEvent, form: UuidForm, present: EventDataEncoder): Promise<Buffer> => {
  const { data, isJson } = await present(event);
  const { custom, recordedAtMs } = propertiesOf(event);
  const [revision, position] = [Number(event.revision), Number(event.position)];
  const id = toBinary(UUIDSchema, uuidOf(event.id, form));
  const stream = sized(event.stream);
  const properties = [
    ['type', sized(event.type)],
    ['created', sized(createdText(recordedAtMs))],
    ['content-type', sized(isJson ? 'application/json' : 'application/octet-stream')],
  ] as const;
  const recorded =
    delimitedBytes(id.length) +
    delimitedBytes(delimitedBytes(stream.bytes)) +
    numeric(revision) +
    2 * numeric(position) +
    properties.reduce((bytes, [key, value]) => bytes + delimitedBytes(entryBytes(key, value)), 0) +
    delimitedBytes(custom.length) +
    delimitedBytes(data.length);
  const read = delimitedBytes(recorded) + numeric(position);

  const writer = new WireWriter(delimitedBytes(read)).tag(ANSWER_EVENT).varint(read);
  writer.tag(READ_EVENT.event).varint(recorded).tag(RECORDED.id).varint(id.length).raw(id);
  writer.tag(RECORDED.stream).varint(delimitedBytes(stream.bytes)).tag(STREAM_NAME).text(stream.text, stream.bytes);
  writer.tag(RECORDED.revision).varint(revision).tag(RECORDED.prepare).varint(position);
  writer.tag(RECORDED.commit).varint(position);
  for (const [key, value] of properties) putEntry(writer, key, value);
  writer.tag(PROPERTIES.custom).varint(custom.length).raw(custom).tag(PROPERTIES.data).varint(data.length).raw(data);
  return writer.tag(READ_EVENT.commit).varint(position).bytes;
};
