import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';

const MAX_TIMER_MS = 2 ** 31 - 1;

/** Ends a stream when the token of its caller expires; the stream notices by the rejection, as at a deadline. */
const untilExpiry = <Answer>(expiresAt: number, answer: Promise<Answer>): Promise<Answer> => {
  const leftMs = expiresAt - Date.now();
  if (leftMs > MAX_TIMER_MS) return answer;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RpcError('UNAUTHENTICATED', 'the token has expired')), leftMs);
    answer.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
};

const admit = <Answer>(call: DispatchedCall, caller: Caller, next: () => Promise<Answer>): Promise<Answer> => {
  const { principal, expiresAt } = caller.identity;
  call.caller = caller;
  call.principal = principal;
  return call.endpoint.stream && expiresAt !== undefined ? untilExpiry(expiresAt, next()) : next();
};

/**
 * Authenticates the caller, unless the RPC requires nothing. Without authentication, `principal` stays empty.
 *
 * @throws {RpcError} UNAUTHENTICATED when there is no valid token, and when the token of a stream expires; UNAVAILABLE
 * when the issuer of the token must be asked and cannot be reached.
 */
export const authenticate =
  (authentication: Authentication | undefined): Interceptor =>
  (call, next) => {
    if (!authentication || call.endpoint.requires.permission === 'none') return next();
    const caller = authentication.callerOf(call.header);
    return caller instanceof Promise ? caller.then((found) => admit(call, found, next)) : admit(call, caller, next);
  };
