import {
  type Cursor,
  DELIMITED,
  readLength,
  readTag,
  readVarint32,
  readVarint64,
  skipValue,
  textAt,
} from '../../kernel/encoding/wire-cursor.js';

const MAX_GROUP_DEPTH = 100;
/** Fields above this number are skipped: the bit masks have 32 bits. */
const MAX_NUMBER = 31;

/**
 * The byte ranges of the fields of one message, by field number. The bytes are well-formed: they have been checked, or
 * this program wrote them.
 */
export type Fields = {
  readonly bytes: Uint8Array;
  /** The start of each value, after its length; 0 for an absent field, since a tag precedes every value. */
  readonly starts: number[];
  readonly ends: number[];
  /** A bit for each field that is present. */
  present: number;
  /** A bit for each field that occurs more than once. */
  repeated: number;
};

/** Indexes the message in the bytes from `start` to `end`. */
export const fieldsOf = (bytes: Uint8Array, start: number, end: number): Fields => {
  const fields: Fields = { bytes, starts: [], ends: [], present: 0, repeated: 0 };
  const cursor: Cursor = { bytes, pos: start };
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    const number = tag >>> 3;
    const valueEnd = (tag & 7) === DELIMITED ? readLength(cursor, end) : 0;
    const valueStart = cursor.pos;
    if (valueEnd > 0) cursor.pos = valueEnd;
    else skipValue(cursor, end, tag, MAX_GROUP_DEPTH);
    if (number <= MAX_NUMBER) note(fields, number, valueStart, cursor.pos);
  }
  return fields;
};

const note = (fields: Fields, number: number, start: number, end: number): void => {
  const bit = 1 << number;
  fields.repeated |= fields.present & bit;
  fields.present |= bit;
  fields.starts[number] = start;
  fields.ends[number] = end;
};

/** The empty message. */
const NO_FIELDS: Fields = { bytes: new Uint8Array(), starts: [], ends: [], present: 0, repeated: 0 };

export const has = (fields: Fields, number: number): boolean => (fields.present & (1 << number)) !== 0;

/** The fields of a nested message; empty when it is absent. */
export const messageIn = ({ bytes, starts, ends }: Fields, number: number): Fields => {
  const start = starts[number];
  return start === undefined ? NO_FIELDS : fieldsOf(bytes, start, ends[number] ?? start);
};

export const textIn = ({ bytes, starts, ends }: Fields, number: number): string => {
  const start = starts[number];
  return start === undefined ? '' : textAt(bytes, start, ends[number] ?? start);
};

/** The value of an unsigned 32-bit field; 0 when it is absent. */
export const numberIn = ({ bytes, starts, ends }: Fields, number: number): number => {
  const start = starts[number];
  return start === undefined ? 0 : readVarint32({ bytes, pos: start }, ends[number] ?? start);
};

/** The value of a signed 64-bit field; 0n when it is absent. */
export const longIn = ({ bytes, starts, ends }: Fields, number: number): bigint => {
  const start = starts[number];
  return start === undefined ? 0n : readVarint64({ bytes, pos: start }, ends[number] ?? start);
};

/** The bytes of a field, as a view; empty when it is absent. */
export const bytesIn = ({ bytes, starts, ends }: Fields, number: number): Uint8Array => {
  const start = starts[number];
  return start === undefined ? new Uint8Array() : bytes.subarray(start, ends[number] ?? start);
};
