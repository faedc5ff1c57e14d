import type { TaskEvent } from './events.js';

/** A version is registered once and never changes; its digest tells a repetition from something else. */
export type TaskState = { readonly digest: Uint8Array | undefined };

export const initialTask = (): TaskState => ({ digest: undefined });

// A copy: what was decoded is a view of its event, and would keep all of that.
export const evolveTask = (_state: TaskState, { data }: TaskEvent): TaskState => ({ digest: data.digest.slice() });
