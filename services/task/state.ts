import type { TaskEvent } from './events.js';

/** A version is registered once and never changes; the digest tells a repetition from a different task. */
export type TaskState = { readonly digest: Uint8Array | undefined };

export const initialTask = (): TaskState => ({ digest: undefined });

// Copied: the decoded digest is a view of the whole event and would keep it in memory.
export const evolveTask = (_state: TaskState, { data }: TaskEvent): TaskState => ({ digest: data.digest.slice() });
