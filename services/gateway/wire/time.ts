import { fromBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';

import type { InRange } from '../../kernel/time-range.js';

/** The tags of `seconds` and `nanos`, which are the same in Timestamp and Duration. */
const SECONDS = 0x08;
const NANOS = 0x10;

/** An offset in the bytes of a valid message, and the low and high 32 bits of the last number read. */
type Cursor = { at: number; low: number; high: number };

const readNumber = (bytes: Uint8Array, cursor: Cursor): void => {
  cursor.low = 0;
  cursor.high = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[cursor.at++] ?? 0;
    const part = byte & 0x7f;
    if (shift <= 28) cursor.low |= part << shift;
    if (shift === 28) cursor.high = part >>> 4;
    if (shift > 28) cursor.high |= part << (shift - 32);
    if (byte < 0x80) return;
  }
};

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
  const cursor: Cursor = { at: start, low: 0, high: 0 };
  let [seconds, nanos] = [0, 0];
  while (cursor.at < end) {
    const tag = bytes[cursor.at++];
    if (tag !== SECONDS && tag !== NANOS) return decodedInRange(bytes.subarray(start, end), inRange);
    readNumber(bytes, cursor);
    if (tag === SECONDS) seconds = (cursor.high | 0) * 2 ** 32 + (cursor.low >>> 0);
    else nanos = cursor.low | 0;
  }
  return inRange(seconds, nanos);
};
