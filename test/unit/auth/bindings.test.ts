import { describe, expect, it } from 'vitest';

import { grantsByBindings } from '../../../services/auth/permissions/grants.js';

const binding = { role: 'viewer', project: 'atlas', domain: 'staging', issuer: '' };
const identity = { issuer: 'https://issuer.test' };

describe('the grants of role bindings', () => {
  it('are those of the role in the project and domain', () => {
    expect(grantsByBindings(identity, [binding])).toEqual([
      { role: 'viewer', projects: ['atlas'], domains: ['staging'] },
    ]);
  });

  it('are for all projects and domains when the binding names none', () => {
    expect(grantsByBindings(identity, [{ ...binding, project: '', domain: '' }])).toEqual([
      { role: 'viewer', projects: ['*'], domains: ['*'] },
    ]);
  });

  it('are only for tokens of the issuer that the binding names', () => {
    expect(grantsByBindings(identity, [{ ...binding, issuer: 'https://issuer.test' }])).toHaveLength(1);
    expect(grantsByBindings(identity, [{ ...binding, issuer: 'https://other.test' }])).toEqual([]);
  });

  it.each(['king', 'toString', ''])('are none for the unknown role %j', (role) => {
    expect(grantsByBindings(identity, [{ ...binding, role }])).toEqual([]);
  });
});
