import { RpcError } from '../../kernel/rpc.js';
import { categoryOf } from '../../kernel/stream.js';

/** What callers may write. */
export type Access = {
  /** Whether something is ever denied. */
  readonly isRestricted: boolean;
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
export const openAccess: Access = {
  isRestricted: false,
  assertWritable: () => undefined,
  assertDeletable: () => undefined,
};

const notDeleted = (stream: string): never =>
  denied(`${stream} cannot be deleted: this log keeps what it has recorded`);

/** Nothing may be written. */
export const readAccess: Access = {
  isRestricted: true,
  assertWritable: (stream) =>
    denied(
      `${stream} cannot be appended to: this server lets the log be read only; ` +
        'started with --eventstore-mode write, it lets clients append to streams of their own',
    ),
  assertDeletable: notDeleted,
};

/** Streams of one's own may be written; those that the control plane decides on may not, and nothing is deleted. */
export const guestAccess = (ownCategories: ReadonlySet<string>): Access => ({
  isRestricted: true,
  assertWritable: (stream) => {
    if (stream.startsWith('$')) denied(`${stream} cannot be appended to: it belongs to the system`);
    if (ownCategories.has(categoryOf(stream)))
      denied(
        `${stream} cannot be appended to: the control plane alone writes streams of the category ` +
          `${categoryOf(stream)}; name yours otherwise`,
      );
  },
  assertDeletable: notDeleted,
});
