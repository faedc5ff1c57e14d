import {
  type Cursor,
  DELIMITED,
  readLength,
  readTag,
  readVarint64,
  skipValue,
} from '../../../kernel/encoding/wire-cursor.js';

const MAX_GROUP_DEPTH = 100;

/** A message that is inside others: from its first byte to its end. */
export type Range = { readonly start: number; readonly end: number };

/** Of a field that is not there. */
export const NOWHERE: Range = { start: 0, end: 0 };

/** The tag of a field that has its length before it. */
export const delimited = (field: number): number => (field << 3) | DELIMITED;

/** The tag of a number. */
export const varint = (field: number): number => field << 3;

/** Takes what it knows of a field and moves the cursor past it; answers whether it did. */
type TakeNumber = (tag: number, cursor: Cursor) => boolean;

/**
 * Goes through a message once: fields with a length are handed on as their ranges, others are taken or passed over.
 *
 * @throws {Malformed} when the bytes are no message.
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
    if ((tag & 7) === DELIMITED) {
      const range = { start: 0, end: readLength(cursor, end) };
      range.start = cursor.pos;
      cursor.pos = range.end;
      onRange(tag, range);
    } else if (!takeNumber(tag, cursor)) skipValue(cursor, end, tag, MAX_GROUP_DEPTH);
  }
};

/** Where the last field of that tag stands in a message. */
export const fieldIn = (bytes: Uint8Array, message: Range, wanted: number): Range => {
  let found = NOWHERE;
  eachField(bytes, message, (tag, range) => {
    if (tag === wanted) found = range;
  });
  return found;
};

/** The last number of that tag in a message; 0n where there is none. */
export const numberIn = (bytes: Uint8Array, message: Range, wanted: number): bigint => {
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
