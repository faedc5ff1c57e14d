import type { CrossingFault } from '../../../services/kernel/crossing-faults.js';
import type { Collection, PageCursor, Query, ValueCounts } from '../../runtime/read-store.js';
import type { FoundValues } from '../distinct-values.js';

/** Settings of the thread for long queries. */
export type QueryThreadSettings = {
  readonly directory: string;
  readonly queryLimitMs: number;
  /** A query that has waited longer than this, in milliseconds, is refused. */
  readonly queryWaitMs: number;
};

/** A query method of the read store, with the field of `countBy`. */
export type QueryMethod =
  | { readonly method: 'find' | 'findDistinct' }
  | { readonly method: 'countBy'; readonly by: string };

/** A query sent to the thread. */
export type QueryRequest = QueryMethod & {
  readonly id: number;
  /** Time of the call in nanoseconds, by the monotonic clock that all threads of a process share. */
  readonly askedAt: bigint;
  readonly collection: Collection;
  readonly query: Query;
};

/**
 * Encoded elements, one after another, and the end offset of each. Sent while the page is being read; the bytes are
 * transferred, not copied.
 */
export type Slice = { readonly bytes: Uint8Array<ArrayBuffer>; readonly ends: readonly number[] };

/** A message from the thread: slices of elements, then the end of the answer. */
export type Answered = { readonly id: number } & (
  | { readonly slice: Slice }
  | { readonly found: { readonly next?: PageCursor } }
  | { readonly values: FoundValues }
  | { readonly counts: ValueCounts }
  | { readonly fault: CrossingFault }
);
