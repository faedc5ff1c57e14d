import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema } from '@bufbuild/protobuf/wkt';

import { Problem } from './problem.js';

const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS: Readonly<Record<string, bigint>> = {
  ms: 1_000_000n,
  s: NANOS_PER_SECOND,
  m: 60n * NANOS_PER_SECOND,
  h: 3_600n * NANOS_PER_SECOND,
  d: 86_400n * NANOS_PER_SECOND,
};
const PART = /(\d+)(?:\.(\d+))?\s*(ms|s|m|h|d)/gu;
const WHOLE = /^\s*(?:\d+(?:\.\d+)?\s*(?:ms|[smhd])\s*)+$/u;
const FRACTION_DIGITS = 9;
/** The longest `google.protobuf.Duration`, in seconds. */
const MAX_SECONDS = 315_576_000_000n;

/** The nanoseconds of a number with a unit. */
const nanosOf = (whole: string, fraction: string, unit: string): bigint => {
  const numerator = BigInt(whole + fraction) * (NANOS[unit] ?? 0n);
  const denominator = 10n ** BigInt(fraction.length);
  if (numerator % denominator !== 0n) throw new Problem('write a duration of whole nanoseconds, such as 0.123456789s');
  return numerator / denominator;
};

/**
 * A duration such as `1h 30m`, `90s` or `250ms`. As in the JSON form of protobuf, a fraction may have any number of
 * digits, as long as its part, such as `1.5h`, is a whole number of nanoseconds.
 *
 * @throws {Problem} for other text, and for a duration that `google.protobuf.Duration` cannot hold.
 */
export const durationOf = (text: string): Duration => {
  if (!WHOLE.test(text)) throw new Problem('write a duration such as 1h 30m, 90s or 250ms');
  const nanos = [...text.matchAll(PART)].reduce(
    (sum, [, whole = '', fraction = '', unit = 's']) => sum + nanosOf(whole, fraction, unit),
    0n,
  );
  if (nanos > MAX_SECONDS * NANOS_PER_SECOND) throw new Problem(`write a duration of at most ${MAX_SECONDS}s`);
  return create(DurationSchema, { seconds: nanos / NANOS_PER_SECOND, nanos: Number(nanos % NANOS_PER_SECOND) });
};

/** A duration in seconds, such as `1.5s`, without rounding. */
export const textOfDuration = ({ seconds, nanos }: Duration): string => {
  if (nanos === 0) return `${seconds}s`;
  const total = seconds * NANOS_PER_SECOND + BigInt(nanos);
  const [sign, size] = total < 0n ? ['-', -total] : ['', total];
  const fraction = String(size % NANOS_PER_SECOND)
    .padStart(FRACTION_DIGITS, '0')
    .replace(/0+$/u, '');
  return `${sign}${size / NANOS_PER_SECOND}${fraction && `.${fraction}`}s`;
};
