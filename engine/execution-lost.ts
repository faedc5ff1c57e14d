import { type CallError } from './call-error.js';

/** The reasons for which a walk of an execution cannot continue. */
export type LossReason =
  /** The execution has ended. */
  | 'ended'
  /** Another engine has the execution, or it is free for another engine. */
  | 'fenced'
  /** A report was answered NOT_FOUND. */
  | 'unknown'
  /** A report has content that the control plane never accepts. */
  | 'invalid'
  /** A report was refused for another reason. */
  | 'refused';

/** The control plane takes no further reports about an execution from this walk, or has refused one of them. */
export class ExecutionLost extends Error {
  override readonly name = 'ExecutionLost';
  /** Written to the log as `err.why`. */
  readonly why: LossReason;

  constructor(reason: LossReason, text: string, cause?: CallError) {
    super(`${reason}: ${text}`, { cause });
    this.why = reason;
  }
}
