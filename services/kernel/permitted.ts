import { type Access, type Permission, UNLIMITED } from './access.js';
import { type Call, RpcError } from './rpc.js';

/** A project and domain; an empty one stands for all. */
type PermissionScope = { readonly project: string; readonly domain: string };

/** The permissions of a call's caller; all of them for a call that is not authenticated. */
export const accessOf = ({ caller }: Pick<Call, 'caller'>): Access => caller?.access ?? UNLIMITED;

const named = (name: string): string => (name === '' ? '*' : name);

/** PERMISSION_DENIED, which names the permission that the caller lacks, and where; `*` stands for all. */
export const denied = (permission: string, { project, domain }: PermissionScope): RpcError =>
  new RpcError(
    'PERMISSION_DENIED',
    `missing permission ${permission} in project ${named(project)}, domain ${named(domain)}`,
  );

/** PERMISSION_DENIED: the caller has the permission in no domain of the project, and one would be enough. */
export const deniedInAll = (permission: string, project: string): RpcError =>
  new RpcError('PERMISSION_DENIED', `missing permission ${permission} in at least one domain of project ${project}`);

/**
 * True for an error with which an authentication refuses the caller, also because too many passwords are tried. Others
 * say nothing about the caller: the issuer of the token, or a store, could not be asked.
 */
export const refusesCaller = (error: unknown): error is RpcError =>
  error instanceof RpcError && error.code !== 'UNAVAILABLE';

/**
 * Checks a permission that the dispatch cannot check, because only the handler knows the scope. Call it before anything
 * is looked up, so that the answer is the same whether the entity exists or not.
 *
 * @throws {RpcError} PERMISSION_DENIED when the caller does not have it in the scope; UNAVAILABLE when that depends on
 * role bindings that are not read yet.
 */
export const assertPermitted = (call: Pick<Call, 'caller'>, permission: Permission, scope: PermissionScope): void => {
  if (!accessOf(call).may(permission, scope.project, scope.domain)) throw denied(permission, scope);
};
