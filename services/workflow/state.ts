import type { WorkflowEvent } from './events.js';

/** A version is registered once and never changes; the digest tells a repetition from a different workflow. */
export type WorkflowState = { readonly digest: Uint8Array | undefined };

export const initialWorkflow = (): WorkflowState => ({ digest: undefined });

export const evolveWorkflow = (_state: WorkflowState, { data }: WorkflowEvent): WorkflowState => ({
  // Copied: the decoded digest is a view of the whole event and would keep it in memory.
  digest: data.digest.slice(),
});
