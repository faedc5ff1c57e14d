import type { RecordedEvent } from '@eventstore/db-client';
import { readVarint64 } from '../../../kernel/encoding/wire-cursor.js';
import { delimited, eachField, fieldIn, NOWHERE, numberIn, type Range, varint } from './fields.js';

/** An answer of a read other than an event. A checkpoint means that all events up to its position were examined. */
export type Mark =
  { readonly mark: 'caught-up' | 'not-found' | 'other' } | { readonly mark: 'checkpoint'; readonly position: bigint };

/** One answer of a read or subscription. Events have the library's form, except that metadata is bytes. */
export type ReadAnswer = RecordedEvent | Mark;

/** The tags of `ReadResp` and of the messages in it. */
const ANSWER = { event: delimited(1), checkpoint: delimited(3), notFound: delimited(4), caughtUp: delimited(8) };
const EVENT = delimited(1);
const RECORDED = {
  id: delimited(1),
  stream: delimited(2),
  revision: varint(3),
  prepare: varint(4),
  commit: varint(5),
  metadata: delimited(6),
  custom: delimited(7),
  data: delimited(8),
};
const CHECKPOINT_COMMIT = varint(1);
const TEXT_ID = delimited(2);
const STREAM_NAME = delimited(3);
const [KEY, VALUE] = [delimited(1), delimited(2)];

const text = (bytes: Buffer, { start, end }: Range): string => bytes.toString('utf8', start, end);

/** The properties of an event that the protocol sends in a map of strings. */
type Properties = { type: string; contentType: string; created: string };

const putProperty = (bytes: Buffer, entry: Range, into: Properties): void => {
  const value = fieldIn(bytes, entry, VALUE);
  const key = text(bytes, fieldIn(bytes, entry, KEY));
  if (key === 'type') into.type = text(bytes, value);
  else if (key === 'content-type') into.contentType = text(bytes, value);
  else if (key === 'created') into.created = text(bytes, value);
};

/** Converts a time in units of 100 ns since 1970. */
const createdAt = (ticks: string): Date => new Date(Number(ticks.slice(0, -4)));

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
};

/** Finds the ranges and numbers of an event in its bytes. */
const placesIn = (bytes: Buffer, message: Range) => {
  const found = { id: NOWHERE, stream: NOWHERE, custom: NOWHERE, data: NOWHERE, revision: 0n, commit: 0n, prepare: 0n };
  const properties: Properties = { type: '', contentType: '', created: '' };
  eachField(
    bytes,
    message,
    (tag, range) => {
      if (tag === RECORDED.data) found.data = range;
      else if (tag === RECORDED.custom) found.custom = range;
      else if (tag === RECORDED.id) found.id = range;
      else if (tag === RECORDED.stream) found.stream = range;
      else if (tag === RECORDED.metadata) putProperty(bytes, range, properties);
    },
    (tag, cursor) => {
      if (tag === RECORDED.revision) found.revision = readVarint64(cursor, message.end);
      else if (tag === RECORDED.prepare) found.prepare = readVarint64(cursor, message.end);
      else if (tag === RECORDED.commit) found.commit = readVarint64(cursor, message.end);
      else return false;
      return true;
    },
  );
  return { ...found, ...properties };
};

/**
 * Copies a range: an event that is kept would otherwise retain everything that arrived in the same packet. The copy is
 * in Node's buffer pool, because an `ArrayBuffer` for each event costs more than everything else here.
 */
const copied = (bytes: Buffer, { start, end }: Range): Uint8Array => {
  const { buffer, byteOffset, length } = Buffer.from(bytes.subarray(start, end));
  return new Uint8Array(buffer, byteOffset, length);
};

const recordedEvent = (bytes: Buffer, message: Range): RecordedEvent => {
  const { id, stream, custom, data, revision, commit, prepare, type, contentType, created } = placesIn(bytes, message);
  const isJson = contentType === 'application/json';
  const event = {
    streamId: text(bytes, fieldIn(bytes, stream, STREAM_NAME)),
    id: text(bytes, fieldIn(bytes, id, TEXT_ID)),
    revision,
    type,
    data: isJson ? parsed(text(bytes, data)) : copied(bytes, data),
    metadata: custom.start === custom.end ? undefined : bytes.subarray(custom.start, custom.end),
    isJson,
    created: createdAt(created),
    position: { commit, prepare },
  };
  return event as RecordedEvent; // the library's type of event types is only a name
};

const CAUGHT_UP: Mark = { mark: 'caught-up' };
const NOT_FOUND: Mark = { mark: 'not-found' };
const OTHER: Mark = { mark: 'other' };

const contentOf = (bytes: Buffer, tag: number, range: Range): ReadAnswer => {
  if (tag === ANSWER.checkpoint) return { mark: 'checkpoint', position: numberIn(bytes, range, CHECKPOINT_COMMIT) };
  if (tag === ANSWER.caughtUp) return CAUGHT_UP;
  if (tag === ANSWER.notFound) return NOT_FOUND;
  const event = tag === ANSWER.event ? fieldIn(bytes, range, EVENT) : NOWHERE;
  return event === NOWHERE ? OTHER : recordedEvent(bytes, event);
};

/**
 * Decodes one answer of a read without an object for each nested message, because events arrive by the thousand.
 *
 * @throws {Malformed} when the bytes are not a message.
 */
export const readAnswer = (bytes: Buffer): ReadAnswer => {
  let answer: ReadAnswer = OTHER;
  eachField(bytes, { start: 0, end: bytes.length }, (tag, range) => (answer = contentOf(bytes, tag, range)));
  return answer;
};
