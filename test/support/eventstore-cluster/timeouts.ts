/** A write that nobody has confirmed for so long is answered with a timeout, whatever was asked for. */
export const WRITE_TIMEOUT_MS = 2_000;

/** How a cluster tells its members' health, in milliseconds. */
export type Timing = {
  /** From the loss of a leader to the next one. */
  readonly electionMs: number;
  /** A node that was not heard of for so long counts as dead. */
  readonly deadMs: number;
  /** Between two heartbeats. */
  readonly heartbeatMs: number;
};

/** The real server takes about 8,000 to elect. A busy machine may hold up a healthy node for a second. */
export const TIMING: Timing = { electionMs: 3_000, deadMs: 1_500, heartbeatMs: 100 };
