/** All permissions. */
export const PERMISSIONS = ['read', 'register', 'execute', 'events', 'admin'] as const;

/** A permission on the entities of a project and domain. */
export type Permission = (typeof PERMISSIONS)[number];

/**
 * The permissions of one caller. An empty project or domain stands for all of them, so that a request that names none
 * requires the permission in all.
 *
 * @throws {RpcError} each method, UNAVAILABLE where the answer depends on role bindings that are not read yet.
 */
export interface Access {
  /** True when the caller has the permission in this project and domain. */
  may(permission: Permission, project: string, domain: string): boolean;
  /** True when the caller has the permission in at least one domain of the project. */
  mayInSome(permission: Permission, project: string): boolean;
  /** True when the caller has the permission in this domain of at least one project. */
  mayInDomain(permission: Permission, domain: string): boolean;
  /** The projects in which the caller has the permission in at least one domain; `undefined` stands for all. */
  projectsWith(permission: Permission): readonly string[] | undefined;
}

/** The access of every caller when there is no authentication. */
export const UNLIMITED: Access = {
  may: () => true,
  mayInSome: () => true,
  mayInDomain: () => true,
  projectsWith: () => undefined,
};
