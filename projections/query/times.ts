import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

/** A point in time, as Protobuf messages hold it. */
export type Instant = Pick<Timestamp, 'seconds' | 'nanos'>;

const NANOS = 1_000_000_000;

const isBefore = (a: Instant, b: Instant): boolean =>
  a.seconds === b.seconds ? a.nanos < b.nanos : a.seconds < b.seconds;

/** Converts an instant to a Timestamp message. */
export const timestampOf = ({ seconds, nanos }: Instant): Timestamp => ({
  $typeName: 'google.protobuf.Timestamp',
  seconds,
  nanos,
});

/** Converts milliseconds since 1970 to a Timestamp message. */
export const timestampOfMs = (ms: number): Timestamp =>
  timestampOf({ seconds: BigInt(Math.floor(ms / 1_000)), nanos: (((ms % 1_000) + 1_000) % 1_000) * 1_000_000 });

/** A timestamp of a request; `undefined` when it is absent or empty (zero). */
export const given = (time: Timestamp | undefined): Timestamp | undefined =>
  time === undefined || (time.seconds === 0n && time.nanos === 0) ? undefined : time;

/** The earlier of two times. */
export const earliest = (known: Timestamp | undefined, other: Timestamp): Timestamp =>
  known !== undefined && !isBefore(other, known) ? known : other;

/** The later of two times. */
export const latest = (known: Timestamp | undefined, other: Timestamp): Timestamp =>
  known !== undefined && !isBefore(known, other) ? known : other;

/**
 * The duration from `start` to `end`, negative when the clocks of the reporters disagree; `undefined` without a start.
 */
export const durationBetween = (start: Timestamp | undefined, end: Instant): Duration | undefined => {
  if (start === undefined) return undefined;
  const seconds = end.seconds - start.seconds;
  const nanos = end.nanos - start.nanos;
  // Seconds and nanos of a Duration message must have the same sign.
  const carried = seconds > 0n && nanos < 0 ? 1 : seconds < 0n && nanos > 0 ? -1 : 0;
  return {
    $typeName: 'google.protobuf.Duration',
    seconds: seconds - BigInt(carried),
    nanos: nanos + carried * NANOS,
  };
};

/** In microseconds, about 142 years: stores keep such values exactly, and so the difference of two of them. */
const FARTHEST = 2 ** 52 - 1;

/**
 * Clamps microseconds to the range of an indexed field. Engines may report any time: one before 1827 or after 2112 is
 * indexed at that end of the range.
 */
export const indexed = (micros: number): number => Math.max(-FARTHEST, Math.min(FARTHEST, micros));

/**
 * Converts a time since 1970, or a duration, to whole microseconds: the value of an indexed field; `null` when it is
 * absent.
 */
export const microsOf = (time: Instant | Duration | undefined): number | null =>
  time === undefined ? null : indexed(Number(time.seconds) * 1_000_000 + Math.trunc(time.nanos / 1_000));
