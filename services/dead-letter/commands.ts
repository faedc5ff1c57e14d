/** An event that a reactor could not act on. */
export type DeadLetterRecord = {
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  /** Why the last attempt failed. */
  readonly reason: string;
  /** When the work was first due, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Failed attempts in a row. */
  readonly attempts: number;
  /**
   * True when the work failed because its stream is parked: it has an event that this release cannot read. The reactor
   * then tries again at its next start.
   */
  readonly parked: boolean;
};

export type DeadLetterCommand =
  /** The work is given up. Records nothing when it is known to be a dead letter already. */
  | { readonly type: 'RecordDeadLetter'; readonly reactor: string; readonly letter: DeadLetterRecord }
  /** The work is to be tried again. Records nothing when that was asked for already. */
  | { readonly type: 'RetryDeadLetter'; readonly reactor: string; readonly position: bigint }
  /** The work is not to be done. Records nothing when that was decided already. */
  | { readonly type: 'SkipDeadLetter'; readonly reactor: string; readonly position: bigint }
  /** The work was done. Records nothing when it is no dead letter. */
  | { readonly type: 'SettleDeadLetter'; readonly reactor: string; readonly position: bigint };
