import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { RpcError } from '../../kernel/rpc.js';
import { categoryOf } from '../../kernel/stream.js';

/** Checks which streams clients may write and delete, and whether they may create and change consumer groups. */
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
   * @throws {RpcError} PERMISSION_DENIED when clients may not create, change or delete consumer groups, nor replay
   * parked events.
   */
  readonly assertGroupsAdministered: () => void;
};

const denied = (reason: string): never => {
  throw new RpcError('PERMISSION_DENIED', reason);
};

/** Allows everything, for a log server (`--role log`), which has no control plane. */
export const fullAccess: ClientAccess = {
  isRestricted: false,
  assertWritable: () => undefined,
  assertDeletable: () => undefined,
  assertGroupsAdministered: () => undefined,
};

const notDeleted = (stream: string): never =>
  denied(`${stream} cannot be deleted: this log keeps what it has recorded`);

/** Denies every write and deletion, and every change of consumer groups. */
export const readAccess: ClientAccess = {
  isRestricted: true,
  assertWritable: (stream) =>
    denied(
      `${stream} cannot be appended to: clients of this server may only read; ` +
        'started with --eventstore-mode write, it lets clients append to streams that are not of the control plane',
    ),
  assertDeletable: notDeleted,
  assertGroupsAdministered: () =>
    denied(
      'groups of consumers cannot be created or changed: clients of this server may only read; ' +
        'started with --eventstore-mode write, it lets clients administer them',
    ),
};

/**
 * For clients beside a control plane on the same log: allows appends, but not to streams of the system or of the
 * control plane, whose categories are given; denies deletions; allows changes of consumer groups.
 */
export const guestAccess = (controlPlane: ReadonlySet<string>): ClientAccess => ({
  isRestricted: true,
  assertWritable: (stream) => {
    if (isSystemStream(stream)) denied(`${stream} cannot be appended to: it belongs to the system`);
    if (controlPlane.has(categoryOf(stream)))
      denied(
        `${stream} cannot be appended to: the control plane alone writes streams of the category ` +
          `${categoryOf(stream)}; append to a stream of another category`,
      );
  },
  assertDeletable: notDeleted,
  assertGroupsAdministered: () => undefined,
});
