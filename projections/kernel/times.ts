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
  const nanos = Number(end.seconds - start.seconds) * NANOS + (end.nanos - start.nanos);
  const seconds = Math.trunc(nanos / NANOS);
  return { $typeName: 'google.protobuf.Duration', seconds: BigInt(seconds), nanos: nanos - seconds * NANOS };
};

/** Whole microseconds of a time since 1970, or of a duration: the value of an indexed field. */
export const microsOf = (time: Instant | Duration | undefined): number | null =>
  time === undefined ? null : Number(time.seconds) * 1_000_000 + Math.trunc(time.nanos / 1_000);
