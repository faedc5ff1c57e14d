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

/** Fields above this number are skipped: the bit masks have 32 bits. */
const MAX_NUMBER = 31;

/**
 * The byte ranges of the fields of one message. The fields of nested messages and the values have not been checked: the
 * functions that read nested messages, texts and varints throw `Malformed`. No function checks the wire type of the
 * field that it reads.
 */
export type Fields = {
  readonly bytes: Uint8Array;
  /**
   * Three numbers for each field in the order of the message: the field number, and the start and the end of its value,
   * after its length. One list, because every engine event makes several of these, and lists by field number would have
   * gaps that take most of their memory.
   */
  readonly spans: number[];
  /** A bit for each field that is present. */
  present: number;
  /** A bit for each field that occurs more than once. */
  repeated: number;
};

/**
 * Indexes the message in the bytes from `start` to `end`.
 *
 * @throws {Malformed} when they are not a sequence of fields.
 */
export const fieldsOf = (bytes: Uint8Array, start: number, end: number): Fields => {
  const fields: Fields = { bytes, spans: [], present: 0, repeated: 0 };
  const cursor: Cursor = { bytes, pos: start };
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    const number = tag >>> 3;
    const valueEnd = (tag & 7) === DELIMITED ? readLength(cursor, end) : 0;
    const valueStart = cursor.pos;
    if (valueEnd > 0) cursor.pos = valueEnd;
    else skipValue(cursor, end, tag);
    if (number <= MAX_NUMBER) note(fields, number, valueStart, cursor.pos);
  }
  return fields;
};

const note = (fields: Fields, number: number, start: number, end: number): void => {
  const bit = 1 << number;
  fields.repeated |= fields.present & bit;
  fields.present |= bit;
  fields.spans.push(number, start, end);
};

const NOTHING = new Uint8Array();

/** The empty message. */
const NO_FIELDS: Fields = { bytes: NOTHING, spans: [], present: 0, repeated: 0 };

/** True when the message has a field with this number. */
export const has = (fields: Fields, number: number): boolean => (fields.present & (1 << number)) !== 0;

/** The bit mask of fields, by their numbers. */
export const bits = (...numbers: readonly number[]): number =>
  numbers.reduce((mask, number) => mask | (1 << number), 0);

const hasAtMostOne = (present: number): boolean => (present & (present - 1)) === 0;

/**
 * True when no field that must be merged is repeated: none but those of `lists` occurs twice, and no oneof has two
 * fields, of which only the last one on the wire counts.
 *
 * @param oneofs a bit mask of the fields of each oneof.
 * @param lists a bit mask of the fields that are lists.
 */
export const isPlain = ({ present, repeated }: Fields, oneofs: readonly number[], lists = 0): boolean =>
  (repeated & ~lists) === 0 && oneofs.every((mask) => hasAtMostOne(present & mask));

/** The index of the last span of a field, which counts when it is repeated; -1 when the field is absent. */
const spanOf = (fields: Fields, number: number): number => {
  if (!has(fields, number)) return -1;
  const { spans } = fields;
  let at = spans.length - 3;
  while (spans[at] !== number) at -= 3;
  return at;
};

/** Reads the value of a field between its two offsets; `absent` when there is none. */
const valueIn = <Value>(
  fields: Fields,
  number: number,
  absent: Value,
  read: (bytes: Uint8Array, start: number, end: number) => Value,
): Value => {
  const at = spanOf(fields, number);
  return at < 0 ? absent : read(fields.bytes, fields.spans[at + 1] ?? 0, fields.spans[at + 2] ?? 0);
};

const longAt = (bytes: Uint8Array, start: number, end: number): bigint => readVarint64({ bytes, pos: start }, end);
const numberAt = (bytes: Uint8Array, start: number, end: number): number => readVarint32({ bytes, pos: start }, end);
const fixed64At = (bytes: Uint8Array, start: number): bigint =>
  new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(start, true);
const viewAt = (bytes: Uint8Array, start: number, end: number): Uint8Array => bytes.subarray(start, end);
const sizeAt = (_: Uint8Array, start: number, end: number): number => end - start;

/** The fields of a nested message; empty when it is absent. */
export const messageIn = (fields: Fields, number: number): Fields => valueIn(fields, number, NO_FIELDS, fieldsOf);

/** The value of a text field; empty when it is absent. */
export const textIn = (fields: Fields, number: number): string => valueIn(fields, number, '', textAt);

/** The value of an unsigned 32-bit field; 0 when it is absent. */
export const numberIn = (fields: Fields, number: number): number => valueIn(fields, number, 0, numberAt);

/** The value of a signed 64-bit field; 0n when it is absent. */
export const longIn = (fields: Fields, number: number): bigint => valueIn(fields, number, 0n, longAt);

/** The value of a field, which must be a `fixed64`; 0n when it is absent. */
export const fixed64In = (fields: Fields, number: number): bigint => valueIn(fields, number, 0n, fixed64At);

/** The bytes of a field, as a view; empty when it is absent. */
export const bytesIn = (fields: Fields, number: number): Uint8Array => valueIn(fields, number, NOTHING, viewAt);

/** The size of the value of a field, in bytes; 0 when it is absent. */
export const sizeIn = (fields: Fields, number: number): number => valueIn(fields, number, 0, sizeAt);
