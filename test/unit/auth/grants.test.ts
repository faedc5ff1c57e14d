import { describe, expect, it } from 'vitest';

import { accessBy, type ClaimGrant, grantsByClaims } from '../../../services/auth/permissions/grants.js';
import type { Grant } from '../../../services/auth/permissions/roles.js';
import type { Access } from '../../../services/kernel/access.js';
import type { Identity } from '../../../services/kernel/ports/authentication.js';

/** The access of a caller with these grants and the scopes of its token. */
const access = (grants: readonly Grant[], scopes: readonly string[] = []) => accessBy(scopes, () => grants);

const IN_DEVELOPMENT: Grant = { role: 'contributor', projects: ['a', 'b'], domains: ['development'] };
/** The permission check of a caller with these grants. */
const mayBy =
  (grants: readonly Grant[]) =>
  (...asked: Parameters<Access['may']>): boolean =>
    access(grants).may(...asked);

const EVERYWHERE: Grant = { role: 'viewer', projects: ['*'], domains: ['*'] };

describe('access', () => {
  it('takes no more grants than a check needs: the next ones may come from a log that is still being read', () => {
    const some = accessBy([], function* () {
      yield EVERYWHERE;
      throw new Error('not read yet');
    });
    expect(some.may('read', 'a', 'development')).toBe(true);
    expect(some.projectsWith('read')).toBeUndefined();
    expect(() => some.may('execute', 'a', 'development')).toThrow('not read yet');
  });

  it('is denied without a grant', () => {
    expect(access([]).may('read', 'a', 'development')).toBe(false);
  });

  it('is given for the projects and domains of a grant, with the permissions of its role', () => {
    const may = mayBy([IN_DEVELOPMENT]);
    expect(may('execute', 'a', 'development')).toBe(true);
    expect(may('execute', 'b', 'development')).toBe(true);
    expect(may('events', 'a', 'development')).toBe(false);
    expect(may('execute', 'c', 'development')).toBe(false);
    expect(may('execute', 'a', 'production')).toBe(false);
  });

  it('to all projects or domains needs a grant on all', () => {
    expect(access([IN_DEVELOPMENT]).may('read', 'a', '')).toBe(false);
    expect(access([IN_DEVELOPMENT]).may('read', '', '')).toBe(false);
    expect(access([EVERYWHERE]).may('read', '', '')).toBe(true);
    expect(access([{ ...EVERYWHERE, domains: ['development'] }]).may('read', '', 'development')).toBe(true);
  });

  it('is not combined from two grants', () => {
    const may = mayBy([
      { role: 'viewer', projects: ['a'], domains: ['*'] },
      { role: 'contributor', projects: ['*'], domains: ['development'] },
    ]);
    expect(may('register', 'a', 'production')).toBe(false);
    expect(may('read', 'b', 'production')).toBe(false);
  });

  it('to some domain of a project, or some project of a domain, is given by any grant on it', () => {
    const some = access([IN_DEVELOPMENT]);
    expect([some.mayInSome('read', 'a'), some.mayInSome('read', 'c'), some.mayInSome('admin', 'a')]).toEqual([
      true,
      false,
      false,
    ]);
    expect([some.mayInDomain('read', 'development'), some.mayInDomain('read', 'production')]).toEqual([true, false]);
  });

  it.each([
    [[], true],
    [['all'], true],
    [['openid', 'offline'], true],
    [['execute'], true],
    [['read'], false],
    [['read', 'all'], true],
  ])('to execute with the scopes %j is allowed: %s', (scopes, allowed) => {
    expect(access([IN_DEVELOPMENT], scopes).may('execute', 'a', 'development')).toBe(allowed);
  });

  it('is not given by scopes without a grant', () => {
    expect(access([], ['all', 'read', 'admin']).may('read', 'a', 'development')).toBe(false);
  });
});

describe('grants by claims', () => {
  const identity = (claims: Identity['claims']): Identity => ({
    ...{ principal: 'ada', issuer: 'https://issuer.test', clientId: '', scopes: [], expiresAt: undefined },
    claims,
  });
  const rule = (claim: string, value: string, issuer?: string): ClaimGrant => ({ ...EVERYWHERE, claim, value, issuer });

  it.each([
    [{ groups: ['ml', 'ops'] }, rule('groups', 'ops'), true],
    [{ groups: 'ops' }, rule('groups', 'ops'), true],
    [{ groups: 'ops admins' }, rule('groups', 'ops'), false],
    [{ groups: [['ops']] }, rule('groups', 'ops'), false],
    [{}, rule('groups', 'undefined'), false],
    [{ realm_access: { roles: ['ops'] } }, rule('realm_access.roles', 'ops'), true],
    [{ 'https://x.test/roles': ['ops'] }, rule('https://x.test/roles', 'ops'), true],
    [{ sub: 'ada' }, rule('sub', 'ada', 'https://issuer.test'), true],
    [{ sub: 'ada' }, rule('sub', 'ada', 'https://other.test'), false],
    [{ sub: 'ada' }, rule('__proto__.constructor.name', 'Object'), false],
  ])('are given to the claims %j by the rule %j: %s', (claims, configured, isGiven) => {
    expect(grantsByClaims(identity(claims), [configured])).toHaveLength(isGiven ? 1 : 0);
  });
});
