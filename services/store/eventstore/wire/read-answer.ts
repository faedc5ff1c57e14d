import { type Cursor, readTag, readVarint64, skipValue } from '../../../kernel/encoding/wire-cursor.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import type { StreamName } from '../../../kernel/stream.js';
import {
  delimited,
  eachField,
  fieldIn,
  isDelimited,
  NOWHERE,
  lastNumberIn,
  type Range,
  readRange,
  varint,
} from './fields.js';

/** An answer of a read other than an event. A checkpoint means that all events up to its position were examined. */
export type Mark =
  | { readonly mark: 'caught-up' | 'not-found' | 'other' }
  | { readonly mark: 'checkpoint'; readonly position: bigint };

/** One answer of a read or subscription. */
export type ReadAnswer = RecordedEvent | Mark;

/** The tags of `ReadResp` and of the messages in it. */
const ANSWER = { event: delimited(1), checkpoint: delimited(3), notFound: delimited(4), caughtUp: delimited(8) };
const EVENT = delimited(1);
const RECORDED = {
  id: delimited(1),
  stream: delimited(2),
  revision: varint(3),
  commit: varint(5),
  metadata: delimited(6),
  custom: delimited(7),
  data: delimited(8),
};
const CHECKPOINT_COMMIT = varint(1);
const TEXT_ID = delimited(2);
const STREAM_NAME = delimited(3);
const [KEY, VALUE] = [delimited(1), delimited(2)];

/** The key of the type of an event in its map of strings; the others (content type, time) are not needed. */
const TYPE = 'type';

const text = (bytes: Buffer, { start, end }: Range): string => bytes.toString('utf8', start, end);

const isType = (bytes: Buffer, { start, end }: Range): boolean =>
  end - start === TYPE.length && bytes.toString('latin1', start, end) === TYPE;

/**
 * Copies a range: an event that is kept would otherwise retain everything that arrived in the same packet. Small
 * copies are in Node's buffer pool, because an `ArrayBuffer` for each event costs more than everything else here.
 */
const copied = (bytes: Buffer, { start, end }: Range): Uint8Array => {
  const { buffer, byteOffset, length } = Buffer.from(bytes.subarray(start, end));
  return new Uint8Array(buffer, byteOffset, length);
};

const uuidBytes = (bytes: Buffer, { start, end }: Range): Buffer =>
  Buffer.from(bytes.toString('latin1', start, end).replaceAll('-', ''), 'hex');

const NO_METADATA = '{}';

/** The fields of an event that are preceded by their length. */
type Fields = { id: Range; stream: Range; custom: Range; data: Range; type: string };

const noteField = (bytes: Buffer, tag: number, range: Range, into: Fields): void => {
  if (tag === RECORDED.data) into.data = range;
  else if (tag === RECORDED.custom) into.custom = range;
  else if (tag === RECORDED.id) into.id = fieldIn(bytes, range, TEXT_ID);
  else if (tag === RECORDED.stream) into.stream = fieldIn(bytes, range, STREAM_NAME);
  else if (tag === RECORDED.metadata && isType(bytes, fieldIn(bytes, range, KEY)))
    into.type = text(bytes, fieldIn(bytes, range, VALUE));
};

const recordedEvent = (bytes: Buffer, { start, end }: Range): RecordedEvent => {
  const cursor: Cursor = { bytes, pos: start };
  const fields: Fields = { id: NOWHERE, stream: NOWHERE, custom: NOWHERE, data: NOWHERE, type: '' };
  let [revision, position] = [0n, 0n];
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    if (isDelimited(tag)) noteField(bytes, tag, readRange(cursor, end), fields);
    else if (tag === RECORDED.revision) revision = readVarint64(cursor, end);
    else if (tag === RECORDED.commit) position = readVarint64(cursor, end);
    else skipValue(cursor, end, tag);
  }
  const { id, stream, custom, data, type } = fields;
  return {
    stream: text(bytes, stream) as StreamName,
    revision,
    position,
    id: uuidBytes(bytes, id),
    type,
    data: copied(bytes, data),
    metadata: custom.start === custom.end ? NO_METADATA : text(bytes, custom),
  };
};

const CAUGHT_UP: Mark = { mark: 'caught-up' };
const NOT_FOUND: Mark = { mark: 'not-found' };
const OTHER: Mark = { mark: 'other' };

const contentOf = (bytes: Buffer, tag: number, range: Range): ReadAnswer => {
  if (tag === ANSWER.checkpoint) return { mark: 'checkpoint', position: lastNumberIn(bytes, range, CHECKPOINT_COMMIT) };
  if (tag === ANSWER.caughtUp) return CAUGHT_UP;
  if (tag === ANSWER.notFound) return NOT_FOUND;
  const event = tag === ANSWER.event ? fieldIn(bytes, range, EVENT) : NOWHERE;
  return event === NOWHERE ? OTHER : recordedEvent(bytes, event);
};

/**
 * Decodes one answer of a read without making its nested messages, because events arrive by the thousand.
 *
 * @throws {Malformed} when the bytes are not a message.
 */
export const readAnswer = (bytes: Buffer): ReadAnswer => {
  let answer: ReadAnswer = OTHER;
  eachField(bytes, { start: 0, end: bytes.length }, (tag, range) => (answer = contentOf(bytes, tag, range)));
  return answer;
};
