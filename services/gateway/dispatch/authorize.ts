import type { Access } from '../../kernel/access.js';
import type { Authentication } from '../../kernel/ports/authentication.js';
import { denied } from '../../kernel/permitted.js';
import { RpcError } from '../../kernel/rpc.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';
import type { Requirement } from './requirement.js';
import type { FoundTarget } from './target.js';

const isAllowed = (access: Access, { permission, target }: Requirement, { project, domain }: FoundTarget): boolean => {
  if (permission === 'none' || permission === 'authenticated') return true;
  const isOfProject = target.project !== undefined && target.domain === undefined && project !== '';
  if (permission === 'read' && isOfProject) return access.mayInSome('read', project);
  return access.may(permission, project, domain);
};

const isNamed = ({ project, domain }: FoundTarget): boolean => project !== '' || domain !== '';

const assertAllowed = ({ endpoint, request }: DispatchedCall, access: Access): void => {
  const { requires, targetOf, readsOf } = endpoint;
  const target = targetOf(request);
  if (!isAllowed(access, requires, target)) throw denied(requires.permission, target);
  for (const readOf of readsOf) {
    const read = readOf(request);
    if (isNamed(read) && !access.may('read', read.project, read.domain)) throw denied('read', read);
  }
};

/**
 * A token that expires and a role that is revoked end a stream after this time at most, in milliseconds. An opaque token
 * that is withdrawn ends it when its issuer is next asked about it.
 */
const RECHECK_MS = 1_000;

const assertStillAllowed = async (authentication: Authentication, call: DispatchedCall): Promise<void> => {
  const { identity, access } = await authentication.callerOf(call.header, call.certificate);
  if ((identity.expiresAt ?? Infinity) <= Date.now()) throw new RpcError('UNAUTHENTICATED', 'the token has expired');
  assertAllowed(call, access);
};

/** True for a refusal. UNAVAILABLE is none: an issuer could not be asked, and the last check still counts. */
const isRefusal = (error: unknown): error is RpcError => error instanceof RpcError && error.code !== 'UNAVAILABLE';

/**
 * Rejects when the caller of an open stream loses its permission; the transport then ends the stream, as after a
 * deadline.
 */
const whileAllowed = <Answer>(answer: Promise<Answer>, check: () => Promise<void>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const recheck = (): void =>
      void check().catch((error: unknown) => {
        if (isRefusal(error)) reject(error);
      });
    const timer = setInterval(recheck, RECHECK_MS).unref();
    answer.finally(() => clearInterval(timer)).then(resolve, reject);
  });

/**
 * Checks that the caller has the permission that the RPC requires, for the project and domain that the request names;
 * everywhere, when it names none. What the request is about is not looked up before, so that the answer is the same
 * whether it exists or not. A stream is checked again every second.
 *
 * @throws {RpcError} PERMISSION_DENIED with the permission that is missing; of a stream, UNAUTHENTICATED when the token
 * of the caller is no longer valid.
 */
export const authorize =
  (authentication: Authentication | undefined): Interceptor =>
  (call, next) => {
    const { requires, stream } = call.endpoint;
    if (!authentication || requires.permission === 'none') return next();
    if (!call.caller) throw new Error(`${call.endpoint.name} came to its authorization without a caller`);
    assertAllowed(call, call.caller.access);
    return stream ? whileAllowed(next(), () => assertStillAllowed(authentication, call)) : next();
  };
