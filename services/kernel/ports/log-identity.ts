/** The stream that names a log in an event store: it belongs to the log, and not to what it records. */
export const IDENTITY_STREAM = 'flightlog-identity';

/** The name of this system's own connections to an event store: a flightlog that serves one gives them stored bytes. */
export const OWN_CONNECTION = 'flightlog';
