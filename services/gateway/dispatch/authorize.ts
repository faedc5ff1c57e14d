import type { Access } from '../../kernel/access.js';
import type { Authentication } from '../../kernel/ports/authentication.js';
import { denied } from '../../kernel/permitted.js';
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

/**
 * Checks that the caller has the permission that the RPC requires, for the project and domain that the request names;
 * everywhere, when it names none. What the request is about is not looked up before, so that the answer is the same
 * whether it exists or not.
 *
 * @throws {RpcError} PERMISSION_DENIED with the permission that is missing.
 */
export const authorize =
  (authentication: Authentication | undefined): Interceptor =>
  (call, next) => {
    const { requires, targetOf, readsOf } = call.endpoint;
    if (!authentication || requires.permission === 'none') return next();
    if (!call.caller) throw new Error(`${call.endpoint.name} came to its authorization without a caller`);
    const { access } = call.caller;
    const target = targetOf(call.request);
    if (!isAllowed(access, requires, target)) throw denied(requires.permission, target);
    for (const readOf of readsOf) {
      const read = readOf(call.request);
      if (isNamed(read) && !access.may('read', read.project, read.domain)) throw denied('read', read);
    }
    return next();
  };
