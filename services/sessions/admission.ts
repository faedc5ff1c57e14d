import type { Urgency } from '../kernel/aggregate.js';
import { RpcError } from '../kernel/rpc.js';

/** The numbers of commands in flight from which further commands are rejected. */
export type AdmissionLimits = {
  /** From this number on, commands that start something are rejected. */
  readonly starts: number;
  /** From this number on, only commands of the urgency `end` are accepted. */
  readonly others: number;
};

/** About 100 and 500 MB of commands, and about a third of a second and one second of work. */
export const ADMISSION_LIMITS: AdmissionLimits = { starts: 2_000, others: 8_000 };

const RETRY_AFTER_MS = 1_000;

/** Admission control for commands. */
export type Admission = {
  /**
   * The error for a command that is rejected: RESOURCE_EXHAUSTED with a retry delay. `undefined` when the command is
   * accepted.
   */
  refusal(urgency: Urgency): RpcError | undefined;
  /** Counts a command as in flight until its outcome settles. */
  count<Outcome>(outcome: Promise<Outcome>): Promise<Outcome>;
};

/** Rejects commands when too many are in flight: first those that start something, never those of the urgency `end`. */
export const admission = ({ starts, others }: AdmissionLimits): Admission => {
  const limits: Readonly<Record<Urgency, number>> = { start: starts, progress: others, end: Infinity };
  let waiting = 0;
  const answered = (): void => {
    waiting -= 1;
  };
  return {
    refusal: (urgency) => {
      if (waiting < limits[urgency]) return undefined;
      const text = `too many requests wait to be recorded; this one was not recorded: send it again in ${RETRY_AFTER_MS / 1_000} s`;
      return new RpcError('RESOURCE_EXHAUSTED', text, [], RETRY_AFTER_MS);
    },
    count: (outcome) => {
      waiting += 1;
      outcome.then(answered, answered);
      return outcome;
    },
  };
};
