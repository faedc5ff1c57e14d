/** An event that a reactor could not act on. */
export type DeadLetterRecord = {
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  /** The failure of the last attempt. */
  readonly reason: string;
  /**
   * The time at which the work was first due, in milliseconds since 1970. If the stream of the event was parked when
   * the event was read, the time at which it was read.
   */
  readonly sinceMs: number;
  /** Failed attempts in a row. */
  readonly attempts: number;
  /**
   * True when the work failed because a stream is parked: it has an event that this release cannot read. The reactor
   * then tries again at its next start, and whenever a parked stream can be read again.
   */
  readonly parked: boolean;
};

export type DeadLetterCommand =
  /** The work is given up. Records nothing for a dead letter that is not being retried, or that was skipped. */
  | { readonly type: 'RecordDeadLetter'; readonly reactor: string; readonly letter: DeadLetterRecord }
  /** The work is to be tried again. Records nothing when that was asked for already. */
  | { readonly type: 'RetryDeadLetter'; readonly reactor: string; readonly position: bigint }
  /** The work is not to be done. Records nothing when that was decided already. */
  | { readonly type: 'SkipDeadLetter'; readonly reactor: string; readonly position: bigint }
  /** The work was done. Records nothing when it is no dead letter. */
  | { readonly type: 'SettleDeadLetter'; readonly reactor: string; readonly position: bigint };
