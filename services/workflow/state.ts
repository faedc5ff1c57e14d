import type { WorkflowEvent } from './events.js';

/** A version is registered once and never changes; its digest tells a repetition from something else. */
export type WorkflowState = { readonly digest: Uint8Array | undefined };

export const initialWorkflow = (): WorkflowState => ({ digest: undefined });

export const evolveWorkflow = (_state: WorkflowState, { data }: WorkflowEvent): WorkflowState => ({
  // A copy: what was decoded is a view of its event, and would keep all of that.
  digest: data.digest.slice(),
});
