import type { Urgency } from '../kernel/aggregate.js';
import { RpcError } from '../kernel/rpc.js';

/** How many commands may wait for their answer before others are turned away. */
export type AdmissionLimits = {
  /** From so many on, nothing new is begun. */
  readonly starts: number;
  /** From so many on, only what ends something is taken. */
  readonly others: number;
};

/** About what 100 and 500 MB hold, and a third of a second's work and a second's. */
export const ADMISSION_LIMITS: AdmissionLimits = { starts: 2_000, others: 8_000 };

const RETRY_AFTER_MS = 1_000;

/** Who may come in. */
export type Admission = {
  /** RESOURCE_EXHAUSTED, with a delay after which to try again, when too many commands wait. */
  refusal(urgency: Urgency): RpcError | undefined;
  /** Counts a command until it has its answer. */
  count<Outcome>(outcome: Promise<Outcome>): Promise<Outcome>;
};

/** Turns commands away when too many wait: what would begin something first, what ends something never. */
export const admission = ({ starts, others }: AdmissionLimits): Admission => {
  const limits: Readonly<Record<Urgency, number>> = { start: starts, progress: others, end: Infinity };
  let waiting = 0;
  const answered = (): void => {
    waiting -= 1;
  };
  return {
    refusal: (urgency) => {
      if (waiting < limits[urgency]) return undefined;
      const text = `too many requests wait to be recorded; nothing of this one was: send it again in ${RETRY_AFTER_MS / 1_000} s`;
      return new RpcError('RESOURCE_EXHAUSTED', text, [], RETRY_AFTER_MS);
    },
    count: (outcome) => {
      waiting += 1;
      outcome.then(answered, answered);
      return outcome;
    },
  };
};
