import type { ExecutionId } from '../kernel/execution-id.js';

/** Takes a slot for an execution that is about to be created. */
export type TakeSlot = {
  readonly type: 'TakeSlot';
  readonly execution: ExecutionId;
  /** The random id of this attempt to create the execution. */
  readonly attempt: string;
  /** Maximum number of concurrent executions, this one included; absent when the execution is only counted. */
  readonly max: number | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
};

export type ReleaseSlot = { readonly type: 'ReleaseSlot'; readonly execution: ExecutionId; readonly attempt: string };

export type SlotsCommand = TakeSlot | ReleaseSlot;
