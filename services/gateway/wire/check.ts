import { isUtf8 } from 'node:buffer';

import type { DescMessage } from '@bufbuild/protobuf';

import {
  FIXED32,
  FIXED64,
  type FieldShape,
  GROUP_END,
  GROUP_START,
  LENGTH,
  type Shape,
  shapeOf,
  VARINT,
} from './shape.js';
import { isTimeInRange } from './time.js';

/** The deepest nesting of messages that is accepted; the outermost message counts as 1. */
const MAX_DEPTH = 100;

/** The state of the walk over one message: its offset and the fault it has found. */
type Walk = {
  readonly bytes: Uint8Array;
  at: number;
  /** Describes the fault; empty until one is found. */
  fault: string;
  /** The names of the fields around the fault, outermost first. */
  readonly path: string[];
};

const fail = (walk: Walk, fault: string): false => {
  walk.fault = fault;
  return false;
};

const MAX_VARINT_BYTES = 10;

const skipVarint = (walk: Walk, end: number): boolean => {
  const limit = Math.min(end, walk.at + MAX_VARINT_BYTES);
  while (walk.at < limit) {
    if ((walk.bytes[walk.at++] ?? 0) < 0x80) return true;
  }
  return fail(walk, limit === end ? 'ends inside a number' : 'has a number longer than 10 bytes');
};

/** Reads a tag or a length; -1 when it does not end before `end` or is larger than 32 bits. */
const readUint32 = (walk: Walk, end: number): number => {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    if (walk.at >= end) break;
    const byte = walk.bytes[walk.at++] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return value <= 0xffff_ffff ? value : -1;
  }
  return -1;
};

const skipBytes = (walk: Walk, count: number, end: number): boolean => {
  if (count > end - walk.at) return fail(walk, `ends early: ${count} bytes announced, ${end - walk.at} there`);
  walk.at += count;
  return true;
};

const skipGroup = (walk: Walk, number: number, end: number, depth: number): boolean => {
  if (depth > MAX_DEPTH) return fail(walk, `is nested deeper than ${MAX_DEPTH}`);
  while (walk.at < end) {
    const tag = readUint32(walk, end);
    if (tag >>> 3 === 0 || tag < 0) return fail(walk, 'has a tag that is not one');
    if ((tag & 7) === GROUP_END) return tag >>> 3 === number || fail(walk, 'ends another group than it began');
    if (!skipValue(walk, tag, end, depth)) return false;
  }
  return fail(walk, 'ends inside a group');
};

/** Skips a value whose field is unknown. */
const skipValue = (walk: Walk, tag: number, end: number, depth: number): boolean => {
  switch (tag & 7) {
    case VARINT:
      return skipVarint(walk, end);
    case FIXED64:
      return skipBytes(walk, 8, end);
    case FIXED32:
      return skipBytes(walk, 4, end);
    case LENGTH: {
      const length = readUint32(walk, end);
      return length < 0 ? fail(walk, 'has a length that is not one') : skipBytes(walk, length, end);
    }
    case GROUP_START:
      return skipGroup(walk, tag >>> 3, end, depth + 1);
    default:
      return fail(walk, 'has a tag that is not one');
  }
};

const checkText = (walk: Walk, end: number): boolean => {
  const { bytes } = walk;
  const start = walk.at;
  let at = start;
  while (at < end && (bytes[at] ?? 0) < 0x80) at++; // nearly all text is ASCII, and needs no view
  walk.at = end;
  return at === end || isUtf8(bytes.subarray(start, end)) || fail(walk, 'is not valid UTF-8');
};

const checkPacked = (walk: Walk, wireType: number, end: number): boolean => {
  if (wireType !== VARINT) {
    const size = wireType === FIXED64 ? 8 : 4;
    if ((end - walk.at) % size !== 0) return fail(walk, 'ends inside a number');
    walk.at = end;
    return true;
  }
  while (walk.at < end) if (!skipVarint(walk, end)) return false;
  return true;
};

const checkTime = (walk: Walk, { shape, inRange }: FieldShape, end: number, depth: number): boolean => {
  const start = walk.at;
  if (!checkMessage(walk, shape, end, depth)) return false;
  return inRange === undefined || isTimeInRange(walk.bytes, start, end, inRange) || fail(walk, 'is out of range');
};

const checkLength = (walk: Walk, field: FieldShape, outerEnd: number, depth: number): boolean => {
  const length = readUint32(walk, outerEnd);
  if (length < 0) return fail(walk, 'has a length that is not one');
  const end = walk.at + length;
  if (end > outerEnd) return fail(walk, `ends early: ${length} bytes announced, ${outerEnd - walk.at} there`);
  switch (field.inside) {
    case 'text':
      return checkText(walk, end);
    case 'message':
      return checkMessage(walk, field.shape, end, depth + 1);
    case 'time':
      return checkTime(walk, field, end, depth + 1);
    case 'entry': // a map entry does not count as a level of nesting
      return checkMessage(walk, field.shape, end, depth);
    case 'packed':
      return checkPacked(walk, field.wireType, end);
    default:
      walk.at = end;
      return true;
  }
};

const checkField = (walk: Walk, field: FieldShape, tag: number, bounds: { end: number; depth: number }): boolean => {
  const wireType = tag & 7;
  if (wireType === LENGTH && (field.wireType === LENGTH || field.inside === 'packed')) {
    return checkLength(walk, field, bounds.end, bounds.depth);
  }
  if (wireType !== field.wireType) return fail(walk, `has wire type ${wireType} in place of ${field.wireType}`);
  return skipValue(walk, tag, bounds.end, bounds.depth);
};

const checkMessage = (walk: Walk, shape: Shape, end: number, depth: number): boolean => {
  if (depth > MAX_DEPTH) return fail(walk, `is nested deeper than ${MAX_DEPTH}`);
  const bounds = { end, depth };
  while (walk.at < end) {
    const tag = readUint32(walk, end);
    if (tag < 0 || tag >>> 3 === 0) return fail(walk, 'has a tag that is not one');
    const field = shape.get(tag >>> 3);
    if (field === undefined) {
      if (!skipValue(walk, tag, end, depth)) return false;
    } else if (!checkField(walk, field, tag, bounds)) {
      walk.path.unshift(field.name);
      return false;
    }
  }
  return true;
};

/**
 * Checks that bytes are a valid message of a type, without decoding them.
 *
 * Finds everything that makes a decoder fail: a value that ends early, text that is not UTF-8, a wire type that is not
 * that of the field, a message nested deeper than {@link MAX_DEPTH}. Also finds times and durations out of range, which
 * JSON cannot represent. Unknown fields are accepted.
 *
 * @returns `undefined` for a valid message; otherwise a text with the field, the fault and the byte offset.
 * @see https://protobuf.dev/programming-guides/encoding/
 */
export const wireFault = (type: DescMessage, bytes: Uint8Array): string | undefined => {
  const walk: Walk = { bytes, at: 0, fault: '', path: [] };
  if (checkMessage(walk, shapeOf(type), bytes.length, 1)) return undefined;
  const where = walk.path.length > 12 ? [...walk.path.slice(0, 6), '…', ...walk.path.slice(-3)] : walk.path;
  return `${where.length > 0 ? where.join('.') : 'the message'} ${walk.fault} (at byte ${walk.at})`;
};
