import type { Permission } from '../../kernel/access.js';

/** The roles, each with its permissions. */
export const permissionsOfRoles = {
  viewer: ['read'],
  contributor: ['read', 'register', 'execute'],
  operator: ['read', 'execute'],
  engine: ['read', 'execute', 'events'],
  administrator: ['read', 'register', 'execute', 'events', 'admin'],
} as const satisfies Readonly<Record<string, readonly Permission[]>>;

/** The name of a role. */
export type AccessRole = keyof typeof permissionsOfRoles;

/** The names of all roles. */
export const ACCESS_ROLES = Object.keys(permissionsOfRoles) as [AccessRole, ...AccessRole[]];

/** Stands for every project, or every domain, in a grant. */
export const ANY = '*';

/** A role in some projects and domains; {@link ANY} among them stands for all. */
export type Grant = {
  readonly role: AccessRole;
  readonly projects: readonly string[];
  readonly domains: readonly string[];
};
