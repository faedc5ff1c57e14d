const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** True for an instant in milliseconds since 1970 of the years 1 to 9999, which a timestamp of protobuf can have. */
export const isTimestamp = (instantMs: number): boolean => instantMs >= FIRST_MS && instantMs <= LAST_MS;
