import {
  type Cursor,
  DELIMITED,
  readLength,
  readTag,
  readVarint64,
  skipValue,
} from '../../../kernel/encoding/wire-cursor.js';

/** The bytes of a nested message or other field, from `start` up to but not including `end`. */
export type Range = { readonly start: number; readonly end: number };

/** The range of a field that is absent. */
export const NOWHERE: Range = { start: 0, end: 0 };

/** The tag of a length-delimited field. */
export const delimited = (field: number): number => (field << 3) | DELIMITED;

/** The tag of a varint field. */
export const varint = (field: number): number => field << 3;

/** True for the tag of a length-delimited field. */
export const isDelimited = (tag: number): boolean => (tag & 7) === DELIMITED;

/** Reads the length of a length-delimited field, moves the cursor past the field, and returns where its content is. */
export const readRange = (cursor: Cursor, end: number): Range => {
  const contentEnd = readLength(cursor, end);
  const start = cursor.pos;
  cursor.pos = contentEnd;
  return { start, end: contentEnd };
};

/** Reads a field that it knows, moves the cursor past it and returns true; returns false for other fields. */
type TakeNumber = (tag: number, cursor: Cursor) => boolean;

/**
 * Walks over the fields of a message. Length-delimited fields are passed to `onRange`; others are read by `takeNumber`
 * or skipped.
 *
 * @throws {Malformed} when the bytes are not a message.
 */
export const eachField = (
  bytes: Uint8Array,
  { start, end }: Range,
  onRange: (tag: number, range: Range) => void,
  takeNumber: TakeNumber = () => false,
): void => {
  const cursor: Cursor = { bytes, pos: start };
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    if (isDelimited(tag)) onRange(tag, readRange(cursor, end));
    else if (!takeNumber(tag, cursor)) skipValue(cursor, end, tag);
  }
};

/** Finds the last length-delimited field with a tag in a message; {@link NOWHERE} when there is none. */
export const fieldIn = (bytes: Uint8Array, { start, end }: Range, wanted: number): Range => {
  const cursor: Cursor = { bytes, pos: start };
  let found = NOWHERE;
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    if (!isDelimited(tag)) skipValue(cursor, end, tag);
    else if (tag === wanted) found = readRange(cursor, end);
    else readRange(cursor, end);
  }
  return found;
};

/** Reads the last number with a tag in a message; 0n when there is none. */
export const lastNumberIn = (bytes: Uint8Array, message: Range, wanted: number): bigint => {
  let found = 0n;
  eachField(
    bytes,
    message,
    () => undefined,
    (tag, cursor) => {
      if (tag !== wanted) return false;
      found = readVarint64(cursor, message.end);
      return true;
    },
  );
  return found;
};
