import type { CrossingFault } from '../../kernel/crossing-faults.js';
import type { Synchronous } from './schema.js';

/** Start parameters of the writer thread. */
export type WriterSettings = {
  readonly path: string;
  readonly synchronous: Synchronous;
  /** Event types that make up the bulk of the log: their kinds are hot (`EventKind`). */
  readonly hotTypes: readonly string[];
  /** Shared memory, made by `sharedHead`, in which the thread publishes the head of the log and those of the kinds. */
  readonly head: SharedArrayBuffer;
};

/** Messages to the writer: packed appends, or the request to end after the earlier ones. */
export type ToWriter = Uint8Array | 'close';

/** The results of the appends of one transaction, in the order in which they were sent. */
export type WriterAnswer =
  | {
      readonly type: 'placed';
      /** Revision and position of the last event of each append, alternating; zeros for an append in `conflicts`. */
      readonly places: Float64Array<ArrayBuffer>;
      /** Index and message of each append that was rejected with a conflict. */
      readonly conflicts: readonly (readonly [index: number, text: string])[];
      /** The duration of its commit, which ends with the sync of the disk, in milliseconds. */
      readonly syncMs: number;
    }
  /** The transaction failed, with the number of its appends. */
  | { readonly type: 'failed'; readonly fault: CrossingFault; readonly count: number };

/** Messages from the writer: the log is open, it could not be opened (`failed` without a count), or results. */
export type FromWriter =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly fault: CrossingFault }
  | WriterAnswer;
