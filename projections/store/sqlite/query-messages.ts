import type { FaultCode } from '../../../services/kernel/fault.js';
import type { Collection, Cursor, Query } from '../../runtime/read-store.js';
import type { FoundValues } from '../distinct-values.js';

/** What the thread for long queries is started with. */
export type QueryThreadSettings = {
  readonly directory: string;
  readonly queryLimitMs: number;
  /** A query that has waited for longer is not begun. */
  readonly queryWaitMs: number;
};

/** The queries of the port. */
export type QueryMethod = 'find' | 'findDistinct';

/** A query on its way to the thread. */
export type Asked = {
  readonly id: number;
  /** When it was asked, by the monotonic clock that all threads of a process share, in nanoseconds. */
  readonly askedAt: bigint;
  readonly method: QueryMethod;
  readonly collection: Collection;
  readonly query: Query;
};

/** Elements that were read, one after another, and where each ends. They come as they are read, and are not copied. */
export type Slice = { readonly bytes: Uint8Array<ArrayBuffer>; readonly ends: readonly number[] };

/** What comes back: slices of elements, and then the end of the answer. */
export type Answered = { readonly id: number } & (
  | { readonly slice: Slice }
  | { readonly found: { readonly next?: Cursor } }
  | { readonly values: FoundValues }
  | { readonly fault: { readonly code: FaultCode; readonly message: string } }
);
