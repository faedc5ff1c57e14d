import { RpcError } from '../../kernel/rpc.js';
import { categoryOf } from '../../kernel/stream.js';

/** What callers may write. */
export type Access = {
  /**
   * @throws {RpcError} PERMISSION_DENIED when nobody writes that stream by this protocol.
   */
  readonly assertWritable: (stream: string) => void;
  /**
   * @throws {RpcError} PERMISSION_DENIED when streams are not deleted here.
   */
  readonly assertDeletable: (stream: string) => void;
};

const denied = (why: string): never => {
  throw new RpcError('PERMISSION_DENIED', why);
};

/** Everything may be written and deleted: a log server and nothing else. */
export const openAccess: Access = { assertWritable: () => undefined, assertDeletable: () => undefined };

/** Nothing may be written. */
export const readAccess: Access = {
  assertWritable: () => denied('this port serves the log to be read'),
  assertDeletable: () => denied('this port serves the log to be read'),
};

/** Streams of one's own may be written; those that the control plane decides on may not, and nothing is deleted. */
export const guestAccess = (ownCategories: ReadonlySet<string>): Access => ({
  assertWritable: (stream) => {
    if (stream.startsWith('$')) denied(`${stream} belongs to the system`);
    if (ownCategories.has(categoryOf(stream)))
      denied(`the control plane alone writes streams of the category ${categoryOf(stream)}`);
  },
  assertDeletable: () => denied('streams of this log are not deleted'),
});
