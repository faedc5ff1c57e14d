import type { Duration } from '@bufbuild/protobuf/wkt';

/** The longest lifetime of a link, and the default, in seconds. */
export const MAX_EXPIRY_SECONDS = 3_600;

const NANOS = 1_000_000_000;

const textOf = ({ seconds, nanos }: Duration): string => `${(Number(seconds) + nanos / NANOS).toString()}s`;

/**
 * The lifetime of a link in whole seconds, rounded up.
 *
 * @param sent a valid duration, or `undefined`: routes refuse one that is out of range.
 * @returns a text with the problem when the requested lifetime is invalid.
 */
export const expirySeconds = (sent: Duration | undefined): number | string => {
  if (sent === undefined) return MAX_EXPIRY_SECONDS;
  const { seconds, nanos } = sent;
  const isPast = seconds < 0n || nanos < 0 || (seconds === 0n && nanos === 0);
  if (isPast) return `expires_in [${textOf(sent)}] is invalid`;
  const whole = Number(seconds) + (nanos > 0 ? 1 : 0);
  if (whole <= MAX_EXPIRY_SECONDS) return whole;
  return `expires_in [${textOf(sent)}] cannot exceed max allowed expiration [${MAX_EXPIRY_SECONDS}s]`;
};
