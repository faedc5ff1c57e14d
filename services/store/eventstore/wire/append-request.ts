import { uuidText } from '../../../kernel/encoding/id-text.js';
import type { ExpectedRevision } from '../../../kernel/ports/event-store.js';
import type { NewEvent } from '../../../kernel/event.js';
import type { Append } from '../../append.js';
import { varintBytes, WireWriter, delimitedBytes } from '../../../kernel/encoding/wire-writer.js';

/** The content of an append request. */
export type AppendMessage = Append & {
  /** The time until which the server may write the events, in seconds since 1970. */
  readonly deadlineSeconds: number;
};

/** The tags of `BatchAppendReq` and of the messages in it; a tag is field number and wire type in one. */
const REQUEST = { correlation: 0x0a, options: 0x12, proposed: 0x1a, isFinal: 0x20 } as const;
const OPTIONS = { stream: 0x0a, revision: 0x10, noStream: 0x1a, any: 0x22, deadline: 0x32 } as const;
const PROPOSED = { id: 0x0a, metadata: 0x12, custom: 0x1a, data: 0x22 } as const;
const STREAM_NAME = 0x1a;
const STRUCTURED = 0x0a;
const [HIGH_BITS, LOW_BITS] = [0x08, 0x10] as const;
const TEXT_ID = 0x12;
const SECONDS = 0x08;
const [KEY, VALUE] = [0x0a, 0x12] as const;

const UUID_CHARACTERS = 36;
/** The size of the field with an event's id: tag and length of the field, tag and length of the text, the text. */
const ID_BYTES = 4 + UUID_CHARACTERS;

const entry = (key: string, value: string): Buffer => {
  const size = 2 + key.length + 2 + value.length;
  const writer = new WireWriter(2 + size).tag(PROPOSED.metadata).varint(size).tag(KEY).text(key, key.length);
  return writer.tag(VALUE).text(value, value.length).bytes;
};

/** For the server, event data is opaque bytes. */
const CONTENT_TYPE = entry('content-type', 'application/octet-stream');
const TYPE_KEY = Buffer.from([KEY, 4, ...Buffer.from('type')]);

/** An event with the sizes of its encoded fields, in bytes, which are computed once. */
type Measured = { readonly event: NewEvent; readonly type: number; readonly metadata: number; readonly size: number };

const typeEntryBytes = (type: number): number => TYPE_KEY.length + delimitedBytes(type);

const measured = (event: NewEvent): Measured => {
  const type = Buffer.byteLength(event.type);
  const metadata = Buffer.byteLength(event.metadata);
  const fields = delimitedBytes(typeEntryBytes(type)) + CONTENT_TYPE.length + delimitedBytes(metadata);
  return { event, type, metadata, size: ID_BYTES + fields + delimitedBytes(event.data.length) };
};

const putEvent = (writer: WireWriter, { event, type, metadata, size }: Measured): void => {
  writer.tag(REQUEST.proposed).varint(size);
  writer
    .tag(PROPOSED.id)
    .varint(2 + UUID_CHARACTERS)
    .tag(TEXT_ID)
    .text(uuidText(event.id), UUID_CHARACTERS);
  writer.tag(PROPOSED.metadata).varint(typeEntryBytes(type)).raw(TYPE_KEY).tag(VALUE).text(event.type, type);
  writer.raw(CONTENT_TYPE);
  writer.tag(PROPOSED.custom).text(event.metadata, metadata);
  writer.tag(PROPOSED.data).varint(event.data.length).raw(event.data);
};

const expectedBytes = (expected: ExpectedRevision): number =>
  typeof expected === 'bigint' ? 1 + varintBytes(Number(expected)) : 2;

const putExpected = (writer: WireWriter, expected: ExpectedRevision): void => {
  if (typeof expected === 'bigint') writer.tag(OPTIONS.revision).varint(Number(expected));
  else writer.tag(expected === 'any' ? OPTIONS.any : OPTIONS.noStream).varint(0);
};

/**
 * Encodes a complete append as one message of a batch stream.
 *
 * @param correlation identifies the append in its batch stream; above 0.
 */
export const appendRequest = (
  correlation: number,
  { stream, expected, events, deadlineSeconds }: AppendMessage,
): Buffer => {
  const all = events.map(measured);
  const name = Buffer.byteLength(stream);
  const identity = 2 + 1 + varintBytes(correlation);
  const deadline = 1 + varintBytes(deadlineSeconds);
  const options = delimitedBytes(delimitedBytes(name)) + expectedBytes(expected) + delimitedBytes(deadline);
  const proposed = all.reduce((bytes, { size }) => bytes + delimitedBytes(size), 0);
  const writer = new WireWriter(delimitedBytes(delimitedBytes(identity)) + delimitedBytes(options) + proposed + 2);
  writer.tag(REQUEST.correlation).varint(delimitedBytes(identity)).tag(STRUCTURED).varint(identity);
  writer.tag(HIGH_BITS).varint(0).tag(LOW_BITS).varint(correlation);
  writer.tag(REQUEST.options).varint(options);
  writer.tag(OPTIONS.stream).varint(delimitedBytes(name)).tag(STREAM_NAME).text(stream, name);
  putExpected(writer, expected);
  writer.tag(OPTIONS.deadline).varint(deadline).tag(SECONDS).varint(deadlineSeconds);
  for (const each of all) putEvent(writer, each);
  return writer.tag(REQUEST.isFinal).varint(1).bytes;
};
