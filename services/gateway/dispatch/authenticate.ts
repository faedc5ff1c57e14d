import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';

const admit = <Answer>(call: DispatchedCall, caller: Caller, next: () => Promise<Answer>): Promise<Answer> => {
  call.caller = caller;
  call.principal = caller.identity.principal;
  return next();
};

/**
 * Authenticates the caller, unless the RPC requires nothing. Without authentication, `principal` stays empty.
 *
 * @throws the errors of {@link Authentication.callerOf}.
 */
export const authenticate =
  (authentication: Authentication | undefined): Interceptor =>
  (call, next) => {
    if (!authentication || call.endpoint.requires.permission === 'none') return next();
    const caller = authentication.callerOf(call.header, call.certificate);
    return caller instanceof Promise ? caller.then((found) => admit(call, found, next)) : admit(call, caller, next);
  };
