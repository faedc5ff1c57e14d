import { fromBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';

import type { InRange } from '../../kernel/time-range.js';

/** The tags of `seconds` and `nanos`, which times and durations have alike. */
const SECONDS = 0x08;
const NANOS = 0x10;

/** A place in bytes that are known to be a message, and the halves of the number that was read last. */
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

/** Fields that are not known are left to the decoder: no client sends any. */
const decodedInRange = (bytes: Uint8Array, inRange: InRange): boolean => {
  const { seconds, nanos } = fromBinary(TimestampSchema, bytes);
  return inRange(Number(seconds), nanos);
};

/** Whether there is the time or duration that is in a part of bytes, which must be a message; of a repeated field the last counts. */
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
