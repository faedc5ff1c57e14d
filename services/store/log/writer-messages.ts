import type { CrossingFault } from '../../kernel/crossing-faults.js';
import type { Synchronous } from './schema.js';

/** Start parameters of the writer thread. */
export type WriterSettings = {
  readonly path: string;
  readonly synchronous: Synchronous;
  /** Event types that make up the bulk of the log. */
  readonly hotTypes: readonly string[];
  /** Shared memory in which it publishes the position of the last committed event. */
  readonly head: SharedArrayBuffer;
};

/** Messages to the writer: packed appends, or the request to end after the earlier ones. */
export type ToWriter = Uint8Array | 'close';

/** The results of the appends of one transaction, in the order in which they were sent. */
export type WriterAnswer =
  | {
      readonly type: 'placed';
      /** Revision and position of each append, alternating. */
      readonly places: Float64Array<ArrayBuffer>;
      /** Index and message of each append that was rejected with a conflict. */
      readonly conflicts: readonly (readonly [index: number, text: string])[];
      /** The duration of its commit, which ends with the sync of the disk, in milliseconds. */
      readonly syncMs: number;
    }
  | { readonly type: 'failed'; readonly fault: CrossingFault; readonly count: number };

/** Messages from the writer: the log is open, it could not be opened, or results. */
export type FromWriter =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly fault: CrossingFault }
  | WriterAnswer;
