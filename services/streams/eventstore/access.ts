import { RpcError } from '../../kernel/rpc.js';
import { categoryOf } from '../../kernel/stream.js';

/** Checks which streams clients may write and delete. */
export type ClientAccess = {
  /** True when some writes are denied. */
  readonly isRestricted: boolean;
  /**
   * @throws {RpcError} PERMISSION_DENIED when clients may not append to the stream by this protocol.
   */
  readonly assertWritable: (stream: string) => void;
  /**
   * @throws {RpcError} PERMISSION_DENIED when this server does not delete streams.
   */
  readonly assertDeletable: (stream: string) => void;
  /**
   * @throws {RpcError} PERMISSION_DENIED when clients may not create and change consumer groups.
   */
  readonly assertGroupsAdministered: () => void;
};

const denied = (why: string): never => {
  throw new RpcError('PERMISSION_DENIED', why);
};

/** Allows every write and deletion, for a server that is only a log. */
export const fullAccess: ClientAccess = {
  isRestricted: false,
  assertWritable: () => undefined,
  assertDeletable: () => undefined,
  assertGroupsAdministered: () => undefined,
};

const notDeleted = (stream: string): never =>
  denied(`${stream} cannot be deleted: this log keeps what it has recorded`);

/** Denies every write and deletion. */
export const readAccess: ClientAccess = {
  isRestricted: true,
  assertWritable: (stream) =>
    denied(
      `${stream} cannot be appended to: this server lets the log be read only; ` +
        'started with --eventstore-mode write, it lets clients append to streams of their own',
    ),
  assertDeletable: notDeleted,
  assertGroupsAdministered: () =>
    denied(
      'groups of consumers cannot be created or changed: this server lets the log be read only; ' +
        'started with --eventstore-mode write, it lets clients administer them',
    ),
};

/** Allows appends to streams of clients, but not to those of the system or the control plane; denies deletions. */
export const guestAccess = (ownCategories: ReadonlySet<string>): ClientAccess => ({
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
  assertGroupsAdministered: () => undefined,
});
