import { type GrpcStatus, grpcStatusOf } from '../../../kernel/grpc-status.js';
import { type GroupName } from './group-name.js';

/** The failures of calls about a group; official clients read the name as the trailer `exception`. */
export type GroupFailureKind =
  | 'persistent-subscription-does-not-exist'
  | 'persistent-subscription-exists'
  | 'persistent-subscription-failed'
  | 'persistent-subscription-dropped'
  | 'maximum-subscribers-reached';

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

/** The failure of a call about a group, in the words of EventStoreDB where clients show them. */
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

/** The failure of a call that was forwarded to the event store. */
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
