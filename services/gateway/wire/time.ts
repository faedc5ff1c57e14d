import { fromBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';

import { type Cursor, readTag, readVarint32, readVarint64 } from '../../kernel/encoding/wire-cursor.js';
import type { InRange } from '../../kernel/time-range.js';

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
export const isTimeInRange = (bytes: Uint8Array, start: number, end: number, inRange: InRange): boolean => {
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
