import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

/** A point in time as messages have it. */
export type Instant = Pick<Timestamp, 'seconds' | 'nanos'>;

const NANOS = 1_000_000_000;

const isBefore = (a: Instant, b: Instant): boolean =>
  a.seconds === b.seconds ? a.nanos < b.nanos : a.seconds < b.seconds;

/** The message of a time. */
export const timestampOf = ({ seconds, nanos }: Instant): Timestamp => ({
  $typeName: 'google.protobuf.Timestamp',
  seconds,
  nanos,
});

/** The time of so many milliseconds since 1970. */
export const timestampOfMs = (ms: number): Timestamp =>
  timestampOf({ seconds: BigInt(Math.floor(ms / 1_000)), nanos: (((ms % 1_000) + 1_000) % 1_000) * 1_000_000 });

/** A time that was given: a message without content counts as absent. */
export const given = (time: Timestamp | undefined): Timestamp | undefined =>
  time === undefined || (time.seconds === 0n && time.nanos === 0) ? undefined : time;

/** The earlier of two times. */
export const earliest = (known: Timestamp | undefined, other: Timestamp): Timestamp =>
  known !== undefined && !isBefore(other, known) ? known : other;

/** The later of two times. */
export const latest = (known: Timestamp | undefined, other: Timestamp): Timestamp =>
  known !== undefined && !isBefore(known, other) ? known : other;

/** From one time to another, negative when the clocks of the reporters disagree; none without a beginning. */
export const between = (start: Timestamp | undefined, end: Instant): Duration | undefined => {
  if (start === undefined) return undefined;
  const seconds = end.seconds - start.seconds;
  const nanos = end.nanos - start.nanos;
  // Both have the same sign in a message.
  const carried = seconds > 0n && nanos < 0 ? 1 : seconds < 0n && nanos > 0 ? -1 : 0;
  return {
    $typeName: 'google.protobuf.Duration',
    seconds: seconds - BigInt(carried),
    nanos: nanos + carried * NANOS,
  };
};

/** In microseconds, some 142 years: stores keep these exactly, and so what two of them differ by. */
const FARTHEST = 2 ** 52 - 1;

/**
 * Microseconds as the value of an indexed field. Clocks of engines may say any time: one before 1827 or after 2112 is
 * found at that end.
 */
export const indexed = (micros: number): number => Math.max(-FARTHEST, Math.min(FARTHEST, micros));

/** Whole microseconds of a time since 1970, or of a duration: the value of an indexed field. */
export const microsOf = (time: Instant | Duration | undefined): number | null =>
  time === undefined ? null : indexed(Number(time.seconds) * 1_000_000 + Math.trunc(time.nanos / 1_000));
