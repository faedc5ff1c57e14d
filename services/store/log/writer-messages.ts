import type { FaultCode } from '../../kernel/fault.js';
import type { Synchronous } from './schema.js';

/** What the writer's thread is started with. */
export type WriterSettings = {
  readonly path: string;
  readonly synchronous: Synchronous;
  readonly hotTypes: readonly string[];
  /** Where it publishes the position of the last committed event. */
  readonly head: SharedArrayBuffer;
};

/** To the writer: packed appends, or the wish to end after those before it. */
export type ToWriter = Uint8Array | 'close';

/** A fault on its way between threads: errors lose their class there. */
export type FaultMessage = { readonly code: FaultCode; readonly message: string; readonly cause: string | undefined };

/** The answers to the appends of one transaction, in the order in which they were sent. */
export type Answer =
  | {
      readonly type: 'placed';
      /** Revision and position of each append in turn. */
      readonly places: Float64Array<ArrayBuffer>;
      /** The appends that were refused, by index. */
      readonly conflicts: readonly (readonly [index: number, text: string])[];
      /** How long its commit took, which ends with the sync of the disk, in milliseconds. */
      readonly syncMs: number;
    }
  | { readonly type: 'failed'; readonly fault: FaultMessage; readonly count: number };

/** From the writer: that the log is open, why it is not, or answers. */
export type FromWriter =
  { readonly type: 'ready' } | { readonly type: 'failed'; readonly fault: FaultMessage } | Answer;
