import type { Access } from '../../kernel/access.js';
import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import { denied, deniedInAll, refusesCaller } from '../../kernel/permitted.js';
import { RpcError } from '../../kernel/rpc.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';
import type { Requirement } from './requirement.js';
import type { FoundTarget } from './target.js';

/** Checks the permission that the RPC requires. A project as a whole can be read with `read` in one of its domains. */
const assertPermission = (
  access: Access,
  { permission, target }: Requirement,
  { project, domain }: FoundTarget,
): void => {
  if (permission === 'none' || permission === 'authenticated') return;
  const isOfProject = target.project !== undefined && target.domain === undefined && project !== '';
  if (permission === 'read' && isOfProject) {
    if (!access.mayInSome('read', project)) throw deniedInAll('read', project);
  } else if (!access.may(permission, project, domain)) throw denied(permission, { project, domain });
};

/** False where the request does not refer to a resource. */
const isReferred = ({ project, domain, isUnreadable = false }: FoundTarget): boolean =>
  project !== '' || domain !== '' || isUnreadable;

const assertAllowed = ({ endpoint, request }: DispatchedCall, access: Access): void => {
  const { requires, targetOf, readsOf } = endpoint;
  assertPermission(access, requires, targetOf(request));
  for (const readOf of readsOf) {
    const read = readOf(request);
    if (isReferred(read) && !access.may('read', read.project, read.domain)) throw denied('read', read);
  }
};

/**
 * The interval, in milliseconds, at which an open stream is checked. The stream ends when the token or the client
 * certificate has expired, or when the role that gave a required permission was revoked. When an opaque token is
 * withdrawn, the stream ends once the issuer is next asked about the token.
 */
const RECHECK_MS = 1_000;

/**
 * Makes the check of an open stream. While the authentication fails without refusing the caller, because the issuer of
 * the token or a store cannot be asked, what it said last counts, until the token expires.
 */
const streamCheck = (authentication: Authentication, call: DispatchedCall, first: Caller): (() => Promise<void>) => {
  let caller = first;
  return async () => {
    try {
      caller = await authentication.callerOf(call.header, call.certificate);
    } catch (error) {
      if (refusesCaller(error)) throw error;
    }
    const { identity, access } = caller;
    if ((identity.expiresAt ?? Infinity) <= Date.now()) throw new RpcError('UNAUTHENTICATED', 'the token has expired');
    assertAllowed(call, access);
  };
};

/** Rejects with the error of a check of an open stream; the transport then ends the stream, as after a deadline. */
const whileAllowed = <Answer>(answer: Promise<Answer>, check: () => Promise<void>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const timer = setInterval(() => void check().catch(reject), RECHECK_MS).unref();
    answer.finally(() => clearInterval(timer)).then(resolve, reject);
  });

/**
 * Checks that the caller has the permission that the RPC requires, for the project and domain that the request names;
 * everywhere, when it names none. For a `read` of a project as a whole, one of its domains is enough. The caller also
 * needs `read` where the other resources are that the request refers to. What the request is about is not looked up
 * before, so that the answer is the same whether it exists or not. A stream is checked again every second.
 *
 * @throws {RpcError} PERMISSION_DENIED with the permission that is missing; UNAVAILABLE when that depends on role
 * bindings that are not read yet; of a stream, UNAUTHENTICATED when the credentials of the caller are no longer valid.
 */
export const authorize =
  (authentication: Authentication | undefined): Interceptor =>
  (call, next) => {
    const { requires, stream } = call.endpoint;
    if (!authentication || requires.permission === 'none') return next();
    const { caller } = call;
    if (!caller) throw new Error(`${call.endpoint.name} came to its authorization without a caller`);
    assertAllowed(call, caller.access);
    return stream ? whileAllowed(next(), streamCheck(authentication, call, caller)) : next();
  };
