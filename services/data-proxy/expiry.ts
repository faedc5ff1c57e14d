import type { Duration } from '@bufbuild/protobuf/wkt';

/** The longest lifetime of a link, and the default, in seconds. */
export const MAX_EXPIRY_SECONDS = 3_600;

const MAX_DURATION_SECONDS = 315_576_000_000n;
const NANOS = 1_000_000_000;

const textOf = ({ seconds, nanos }: Duration): string => `${(Number(seconds) + nanos / NANOS).toString()}s`;

const isDuration = ({ seconds, nanos }: Duration): boolean =>
  seconds <= MAX_DURATION_SECONDS && seconds >= -MAX_DURATION_SECONDS && Math.abs(nanos) < NANOS;

/**
 * The lifetime of a link in whole seconds, rounded up.
 *
 * @returns a text with the problem when the requested lifetime is invalid.
 */
export const expirySeconds = (sent: Duration | undefined): number | string => {
  if (sent === undefined) return MAX_EXPIRY_SECONDS;
  const { seconds, nanos } = sent;
  const isPast = seconds < 0n || nanos < 0 || (seconds === 0n && nanos === 0);
  if (isPast || !isDuration(sent)) return `expires_in [${textOf(sent)}] is invalid`;
  const whole = Number(seconds) + (nanos > 0 ? 1 : 0);
  if (whole <= MAX_EXPIRY_SECONDS) return whole;
  return `expires_in [${textOf(sent)}] cannot exceed max allowed expiration [${MAX_EXPIRY_SECONDS}s]`;
};
