/**
 * The stream that holds the identity of a log in an event store. It describes the log itself and is not part of its
 * content.
 */
export const IDENTITY_STREAM = 'flightlog-identity';

/** True for streams that belong to the event store itself: its system streams, and the one with the log's identity. */
export const isSystemStream = (stream: string): boolean => stream.startsWith('$') || stream === IDENTITY_STREAM;

/**
 * Connection name of flightlog's own clients of an event store. A flightlog that serves its log as an event store gives
 * such clients the bytes as stored.
 */
export const OWN_CONNECTION = 'flightlog';
