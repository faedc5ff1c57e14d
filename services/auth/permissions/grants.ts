import { type Access, type Permission, PERMISSIONS } from '../../kernel/access.js';
import type { Identity } from '../../kernel/ports/authentication.js';
import { ANY, type Grant, type AccessRole, permissionsOfRoles } from './roles.js';

/** A grant to the callers that have a value in a claim; of one issuer where that is named. */
export type ClaimGrant = Grant & {
  readonly issuer?: string | undefined;
  readonly claim: string;
  readonly value: string;
};

const KNOWN: ReadonlySet<string> = new Set(PERMISSIONS);

/** The scope with which a token has everything that the grants of its caller give; it adds nothing to them. */
const EVERY_SCOPE = 'all';

/** The values of a claim; `realm_access.roles` names a claim inside another. */
const valuesOf = ({ claims }: Identity, path: string): readonly unknown[] => {
  const whole = claims[path];
  const value =
    whole ??
    path
      .split('.')
      .reduce<unknown>(
        (found, key) =>
          typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[key] : undefined,
        claims,
      );
  return Array.isArray(value) ? value : [value];
};

/** The grants that the claims of a caller give. */
export const grantsByClaims = (identity: Identity, configured: readonly ClaimGrant[]): readonly Grant[] =>
  configured.filter(
    ({ issuer = identity.issuer, claim, value }) =>
      issuer === identity.issuer && valuesOf(identity, claim).includes(value),
  );

/** The permissions that the scopes of a token leave: all, unless it names some of them and not `all`. */
const permissionsByScopes = (scopes: readonly string[]): ReadonlySet<string> => {
  const named = scopes.filter((scope) => KNOWN.has(scope));
  return named.length === 0 || scopes.includes(EVERY_SCOPE) ? KNOWN : new Set(named);
};

const covers = (granted: readonly string[], requested: string): boolean =>
  granted.includes(ANY) || (requested !== '' && granted.includes(requested));

const has = (permission: Permission, { role }: Grant): boolean =>
  (permissionsOfRoles[role] as readonly Permission[]).includes(permission);

/**
 * The access that grants give, narrowed by the scopes of the token.
 *
 * @param grants is called at each check, so that a new role binding applies immediately. Only as many are taken as the
 * check needs.
 */
export const accessBy = (scopes: readonly string[], grants: () => Iterable<Grant>): Access => {
  const allowed = permissionsByScopes(scopes);
  const giving = function* (permission: Permission): Generator<Grant> {
    if (!allowed.has(permission)) return;
    for (const grant of grants()) if (has(permission, grant)) yield grant;
  };
  const some = (permission: Permission, matches: (grant: Grant) => boolean): boolean => {
    for (const grant of giving(permission)) if (matches(grant)) return true;
    return false;
  };
  return {
    may: (permission, project, domain) =>
      some(permission, ({ projects, domains }) => covers(projects, project) && covers(domains, domain)),
    mayInSome: (permission, project) => some(permission, ({ projects }) => covers(projects, project)),
    mayInDomain: (permission, domain) => some(permission, ({ domains }) => covers(domains, domain)),
    projectsWith: (permission) => {
      const found = new Set<string>();
      for (const { projects } of giving(permission)) {
        if (projects.includes(ANY)) return undefined;
        for (const project of projects) found.add(project);
      }
      return [...found];
    },
  };
};

/** A recorded role of a principal. An empty project, domain or issuer stands for all. */
type RecordedBinding = {
  readonly role: string;
  readonly project: string;
  readonly domain: string;
  readonly issuer: string;
};

const isRole = (name: string): name is AccessRole => Object.hasOwn(permissionsOfRoles, name);

const placesOf = (name: string): readonly string[] => [name === '' ? ANY : name];

/**
 * The grants that the bindings of a principal give to one identity. A role that this release does not have gives none.
 */
export const grantsByBindings = (
  { issuer: identityIssuer }: Pick<Identity, 'issuer'>,
  bindings: readonly RecordedBinding[],
): readonly Grant[] =>
  bindings.flatMap(({ role, project, domain, issuer }) =>
    isRole(role) && (issuer === '' || issuer === identityIssuer)
      ? [{ role, projects: placesOf(project), domains: placesOf(domain) }]
      : [],
  );
