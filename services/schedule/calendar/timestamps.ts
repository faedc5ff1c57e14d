const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * True for an instant, in milliseconds since 1970, from the start of the year 1 to the last whole second of the year
 * 9999. A timestamp of protobuf can have these years.
 */
export const isTimestamp = (instantMs: number): boolean => instantMs >= FIRST_MS && instantMs <= LAST_MS;
