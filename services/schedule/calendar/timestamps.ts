const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** True for an instant in milliseconds since 1970 that a timestamp of protobuf can have: those of the years 1 to 9999. */
export const isTimestamp = (instantMs: number): boolean => instantMs >= FIRST_MS && instantMs <= LAST_MS;
