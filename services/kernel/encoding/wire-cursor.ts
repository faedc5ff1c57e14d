import { MAX_SHORT_BYTES, shortAsciiAt } from './short-text.js';

// https://protobuf.dev/programming-guides/encoding/#structure
/** Wire type of integers, booleans and enums. */
export const VARINT = 0;
/** Wire type of values of eight bytes. */
export const FIXED64 = 1;
/** Wire type of values that are preceded by their length. */
export const DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;
/** Wire type of values of four bytes. */
export const FIXED32 = 5;

/** The levels of nested messages that implementations of protobuf read by default. */
const MAX_GROUP_DEPTH = 100;
const MAX_TAG_BYTES = 5;
const MAX_VARINT_BYTES = 10;

/** Bytes that are not a protobuf message. The error's text is the end of a sentence about the message or its field. */
export class Malformed extends Error {
  /**
   * Offset of the number, tag, length, value or text that is wrong; for a group that is nested too deeply or never
   * began, the offset after its tag.
   */
  readonly at: number;

  constructor(problem: string, at: number) {
    super(problem);
    this.name = 'Malformed';
    this.at = at;
  }
}

/** A read position in a message; the read functions below advance it. */
export type Cursor = { readonly bytes: Uint8Array; pos: number };

/** Reads the low 32 bits of a varint; all ten bytes of a negative number are consumed. */
export const readVarint32 = (cursor: Cursor, end: number): number => {
  const { bytes } = cursor;
  const start = cursor.pos;
  let value = 0;
  for (let at = start; at < end && at < start + MAX_VARINT_BYTES; at += 1) {
    const byte = bytes[at] ?? 0;
    if (at < start + MAX_TAG_BYTES) value |= (byte & 0x7f) << (7 * (at - start));
    if (byte >= 0x80) continue;
    cursor.pos = at + 1;
    return value >>> 0;
  }
  throw new Malformed(
    end - start < MAX_VARINT_BYTES ? 'ends inside a number' : 'has a number longer than 10 bytes',
    start,
  );
};

/** Reads all 64 bits of a varint as a signed number. */
export const readVarint64 = (cursor: Cursor, end: number): bigint => {
  const start = cursor.pos;
  const low = readVarint32(cursor, end);
  if (cursor.pos - start < MAX_TAG_BYTES) return BigInt(low);
  if (cursor.pos - start === MAX_TAG_BYTES) return BigInt(low + ((cursor.bytes[start + 4] ?? 0) >>> 4) * 2 ** 32);
  let value = 0n;
  for (let at = cursor.pos - 1; at >= start; at -= 1) value = (value << 7n) | BigInt((cursor.bytes[at] ?? 0) & 0x7f);
  return BigInt.asIntN(64, value);
};

/** A tag is 32 bits in at most five bytes. */
const isTagSized = ({ bytes, pos }: Cursor, start: number): boolean =>
  pos - start < MAX_TAG_BYTES || (pos - start === MAX_TAG_BYTES && (bytes[start + 4] ?? 0) < 16);

/** Reads a tag: field number and wire type in one number, as encoded on the wire. */
export const readTag = (cursor: Cursor, end: number): number => {
  const start = cursor.pos;
  const tag = readVarint32(cursor, end);
  if (!isTagSized(cursor, start)) throw new Malformed('has an invalid tag', start);
  if (tag >>> 3 === 0 || (tag & 7) > FIXED32) throw new Malformed('has an invalid tag', start);
  return tag;
};

const endsEarly = (announced: number, left: number, at: number): Malformed =>
  new Malformed(`ends early: ${announced} bytes announced, ${left} there`, at);

/**
 * Reads the length of a length-delimited value and moves the cursor to the first byte of the value.
 *
 * @returns the offset of the value's end.
 */
export const readLength = (cursor: Cursor, end: number): number => {
  const start = cursor.pos;
  const length = readVarint32(cursor, end);
  if (length > end - cursor.pos) throw endsEarly(length, end - cursor.pos, start);
  return cursor.pos + length;
};

const skipFixed = (cursor: Cursor, end: number, size: number): void => {
  if (size > end - cursor.pos) throw endsEarly(size, end - cursor.pos, cursor.pos);
  cursor.pos += size;
};

const skipGroup = (cursor: Cursor, end: number, number: number, depth: number): void => {
  if (depth <= 0) throw new Malformed('is nested too deeply', cursor.pos);
  for (;;) {
    const start = cursor.pos;
    const tag = readTag(cursor, end);
    if ((tag & 7) === END_GROUP && tag >>> 3 === number) return;
    if ((tag & 7) === END_GROUP) throw new Malformed('has a group that does not end', start);
    skipValue(cursor, end, tag, depth - 1);
  }
};

/** Skips the value that follows a tag. Groups may be nested up to `depth` levels. */
export const skipValue = (cursor: Cursor, end: number, tag: number, depth = MAX_GROUP_DEPTH): void => {
  const wireType = tag & 7;
  if (wireType === VARINT) readVarint32(cursor, end);
  else if (wireType === DELIMITED) cursor.pos = readLength(cursor, end);
  else if (wireType === FIXED64) skipFixed(cursor, end, 8);
  else if (wireType === FIXED32) skipFixed(cursor, end, 4);
  else if (wireType === START_GROUP) skipGroup(cursor, end, tag >>> 3, depth);
  else throw new Malformed('has the end of a group that never began', cursor.pos);
};

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const decodeStrictly = (part: Uint8Array, start: number): string => {
  try {
    return strict.decode(part);
  } catch {
    throw new Malformed('is not valid UTF-8', start);
  }
};

/**
 * Decodes the UTF-8 text between two offsets.
 *
 * @throws {Malformed} when the bytes are not valid UTF-8.
 */
export const textAt = (bytes: Uint8Array, start: number, end: number): string => {
  if (start === end) return '';
  const short = end - start > MAX_SHORT_BYTES ? undefined : shortAsciiAt(bytes, start, end);
  return short ?? decodeStrictly(bytes.subarray(start, end), start);
};
