/**
 * A write that is not confirmed within this time is answered with a timeout, also when the client gave a longer
 * deadline.
 */
export const WRITE_TIMEOUT_MS = 2_000;

/** The timing of failure detection and elections, in milliseconds. */
export type Timing = {
  /** The time from the death of a leader to the election of the next; after a resignation, `deadMs` less. */
  readonly electionMs: number;
  /** A node without a heartbeat for this long counts as dead. */
  readonly deadMs: number;
  /** The interval between two heartbeats. */
  readonly heartbeatMs: number;
};

/** The real server takes about 8,000 ms to elect. A busy machine may delay a healthy node by a second. */
export const TIMING: Timing = { electionMs: 3_000, deadMs: 1_500, heartbeatMs: 100 };
