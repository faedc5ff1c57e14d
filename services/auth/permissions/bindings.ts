import type { Identity } from '../../kernel/ports/authentication.js';
import { ANY, type Grant, type Role, roles } from './roles.js';

/** A recorded role of a principal. An empty project, domain or issuer stands for all. */
export type RecordedBinding = {
  readonly role: string;
  readonly project: string;
  readonly domain: string;
  readonly issuer: string;
};

const isRole = (name: string): name is Role => Object.hasOwn(roles, name);

const placesOf = (name: string): readonly string[] => [name === '' ? ANY : name];

/** The grants that the bindings of a principal give to one identity. A role that this release does not have gives none. */
export const grantsByBindings = (
  { issuer: own }: Pick<Identity, 'issuer'>,
  bindings: readonly RecordedBinding[],
): readonly Grant[] =>
  bindings.flatMap(({ role, project, domain, issuer }) =>
    isRole(role) && (issuer === '' || issuer === own)
      ? [{ role, projects: placesOf(project), domains: placesOf(domain) }]
      : [],
  );
