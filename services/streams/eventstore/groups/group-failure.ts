import { type GrpcStatus, grpcStatusOf } from '../../../kernel/grpc-status.js';
import { type GroupName } from './group-name.js';

/** The failures of calls about a group; official clients read the name as the trailer `exception`. */
export type GroupFailureKind =
  | 'persistent-subscription-does-not-exist'
  | 'persistent-subscription-exists'
  | 'persistent-subscription-failed'
  /** A connected consumer is disconnected: its group was changed or deleted, or all groups restart. */
  | 'persistent-subscription-dropped'
  | 'maximum-subscribers-reached';

/** The status of each kind, as EventStoreDB answers. INTERNAL is no bug here: the settings of a group were refused. */
const CODES: Readonly<Record<GroupFailureKind, GrpcStatus>> = {
  'persistent-subscription-does-not-exist': 'NOT_FOUND',
  'persistent-subscription-exists': 'ALREADY_EXISTS',
  'persistent-subscription-failed': 'INTERNAL',
  'persistent-subscription-dropped': 'CANCELLED',
  'maximum-subscribers-reached': 'FAILED_PRECONDITION',
};

const SAID: Readonly<Record<GroupFailureKind, (reason: string) => string>> = {
  'persistent-subscription-does-not-exist': () => 'does not exist.',
  'persistent-subscription-exists': () => 'exists.',
  'persistent-subscription-failed': (reason) => `failed: '${reason}'`,
  'persistent-subscription-dropped': () => 'was dropped.',
  'maximum-subscribers-reached': () => 'has its maximum of consumers.',
};

/**
 * The failure of a call about a group. Its status, trailers and text are those of EventStoreDB, except the text of
 * `maximum-subscribers-reached`. Official clients show the text, and tell the failures apart by the trailers.
 */
export class GroupFailure extends Error {
  readonly code: GrpcStatus;
  /** The trailers that official clients read. */
  readonly trailers: Readonly<Record<string, string>>;

  constructor(exception: GroupFailureKind, { source, group }: GroupName, reason = '') {
    super(`Subscription group ${group} on stream ${source} ${SAID[exception](reason)}`);
    this.name = 'GroupFailure';
    this.code = CODES[exception];
    this.trailers = { exception, 'stream-name': source, 'group-name': group, ...(reason !== '' && { reason }) };
  }
}

/**
 * The failure of a call that was forwarded to the event store, which has the groups: passed on as the store answered.
 */
export class ForwardedFailure extends Error {
  readonly code: GrpcStatus;
  /** The trailers that official clients read. */
  readonly trailers: Readonly<Record<string, string>>;

  constructor(
    { code, details }: { readonly code: number; readonly details: string },
    given: Readonly<Record<string, unknown>>,
  ) {
    super(details);
    this.name = 'ForwardedFailure';
    this.code = grpcStatusOf(code);
    this.trailers = Object.fromEntries(
      ['exception', 'stream-name', 'group-name', 'reason'].flatMap((key) =>
        typeof given[key] === 'string' ? [[key, given[key]] as const] : [],
      ),
    );
  }
}
