import { isUtf8 } from 'node:buffer';

import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';

import {
  type Cursor,
  DELIMITED,
  FIXED64,
  Malformed,
  readLength,
  readTag,
  readVarint32,
  readVarint64,
  skipValue,
  VARINT,
} from '../../kernel/encoding/wire-cursor.js';
import type { InRange } from '../../kernel/values/time-range.js';
import { type WireField, type Shape, shapeOf } from './shape.js';

/** The tags of `seconds` and `nanos`, which are the same in Timestamp and Duration. */
const SECONDS = 0x08;
const NANOS = 0x10;

/** Slow path for messages with unknown fields, which no known client sends. */
const decodedInRange = (bytes: Uint8Array, inRange: InRange): boolean => {
  const { seconds, nanos } = fromBinary(TimestampSchema, bytes);
  return inRange(Number(seconds), nanos);
};

/**
 * Checks that the Timestamp or Duration encoded from `start` to `end` is in range. The bytes must be a valid message;
 * where a field occurs more than once, the last occurrence counts.
 */
const isTimeInRange = (bytes: Uint8Array, start: number, end: number, inRange: InRange): boolean => {
  const cursor: Cursor = { bytes, pos: start };
  let [seconds, nanos] = [0, 0];
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    if (tag === SECONDS) seconds = Number(readVarint64(cursor, end));
    else if (tag === NANOS) nanos = readVarint32(cursor, end) | 0;
    else return decodedInRange(bytes.subarray(start, end), inRange);
  }
  return inRange(seconds, nanos);
};

/** The deepest nesting of messages that is accepted; the outermost message counts as 1. */
const MAX_DEPTH = 100;

/** A scan of a message, with the names of the fields around the fault that ended it, outermost first. */
type Scan = Cursor & { readonly path: string[] };

const checkText = (scan: Scan, end: number): void => {
  const { bytes, pos: start } = scan;
  let at = start;
  while (at < end && (bytes[at] ?? 0) < 0x80) at++; // nearly all text is ASCII, and needs no view
  if (at < end && !isUtf8(bytes.subarray(start, end))) throw new Malformed('is not valid UTF-8', start);
  scan.pos = end;
};

const checkPacked = (scan: Scan, wireType: number, end: number): void => {
  if (wireType === VARINT) {
    while (scan.pos < end) readVarint32(scan, end);
    return;
  }
  const size = wireType === FIXED64 ? 8 : 4;
  if ((end - scan.pos) % size !== 0) throw new Malformed('ends inside a number', scan.pos);
  scan.pos = end;
};

const checkTime = (scan: Scan, { shape, inRange }: WireField, end: number, depth: number): void => {
  const start = scan.pos;
  checkMessage(scan, shape, end, depth);
  if (inRange && !isTimeInRange(scan.bytes, start, end, inRange)) throw new Malformed('is out of range', start);
};

const checkDelimited = (scan: Scan, field: WireField, outerEnd: number, depth: number): void => {
  const end = readLength(scan, outerEnd);
  switch (field.inside) {
    case 'text':
      checkText(scan, end);
      break;
    case 'message':
      checkMessage(scan, field.shape, end, depth + 1);
      break;
    case 'time':
      checkTime(scan, field, end, depth + 1);
      break;
    case 'entry': // a map entry does not count as a level of nesting
      checkMessage(scan, field.shape, end, depth);
      break;
    case 'packed':
      checkPacked(scan, field.wireType, end);
      break;
    default:
      scan.pos = end;
  }
};

/** The end of the message around a field, and how deep that is nested. */
type Bounds = { readonly end: number; readonly depth: number };

const checkField = (scan: Scan, field: WireField, tag: number, { end, depth }: Bounds): void => {
  const wireType = tag & 7;
  if (wireType === DELIMITED && (field.wireType === DELIMITED || field.inside === 'packed'))
    checkDelimited(scan, field, end, depth);
  else if (wireType === field.wireType) skipValue(scan, end, tag, MAX_DEPTH - depth);
  else throw new Malformed(`has wire type ${wireType} in place of ${field.wireType}`, scan.pos);
};

const checkMessage = (scan: Scan, shape: Shape, end: number, depth: number): void => {
  if (depth > MAX_DEPTH) throw new Malformed(`is nested deeper than ${MAX_DEPTH}`, scan.pos);
  const bounds = { end, depth };
  while (scan.pos < end) {
    const tag = readTag(scan, end);
    const field = shape.get(tag >>> 3);
    if (field === undefined) skipValue(scan, end, tag, MAX_DEPTH - depth);
    else
      try {
        checkField(scan, field, tag, bounds);
      } catch (error) {
        scan.path.unshift(field.name);
        throw error;
      }
  }
};

const described = (path: readonly string[], { message, at }: Malformed): string => {
  const where = path.length > 12 ? [...path.slice(0, 6), '…', ...path.slice(-3)] : path;
  return `${where.length > 0 ? where.join('.') : 'the message'} ${message} (at byte ${at})`;
};

/**
 * Checks that bytes are a valid message of a type, without decoding them.
 *
 * Finds everything that makes a decoder fail: a value that ends early, text that is not UTF-8, a wire type that is not
 * that of the field, a message nested deeper than {@link MAX_DEPTH}. Also finds times and durations out of range, which
 * JSON cannot represent, but for those in literals. Unknown fields are accepted.
 *
 * @returns `undefined` for a valid message; otherwise a text with the fault and its byte offset.
 * @see https://protobuf.dev/programming-guides/encoding/
 */
export const wireFault = (type: DescMessage, bytes: Uint8Array): string | undefined => {
  const scan: Scan = { bytes, pos: 0, path: [] };
  try {
    checkMessage(scan, shapeOf(type), bytes.length, 1);
    return undefined;
  } catch (error) {
    if (error instanceof Malformed) return described(scan.path, error);
    throw error;
  }
};
