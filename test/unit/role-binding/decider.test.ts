import { create } from '@bufbuild/protobuf';
import { describe, it } from 'vitest';

import { RoleGrantedSchema, RoleRevokedSchema } from '../../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import { MAX_BINDINGS, roleBindingDecider } from '../../../services/role-binding/decider.js';
import type { RoleBindingEvent } from '../../../services/role-binding/events.js';
import type { GrantedRole } from '../../../services/role-binding/state.js';
import { given } from '../../support/streams/given.js';

const viewer: GrantedRole = { principal: 'ada', role: 'viewer', project: 'atlas', domain: '', issuer: '' };

const granted = (binding: GrantedRole): RoleBindingEvent => ({
  type: 'RoleGranted',
  data: create(RoleGrantedSchema, { binding }),
});
const revoked = (binding: GrantedRole): RoleBindingEvent => ({
  type: 'RoleRevoked',
  data: create(RoleRevokedSchema, { binding }),
});
const grant = (binding: GrantedRole) => ({ type: 'GrantRole', binding }) as const;
const revoke = (binding: GrantedRole) => ({ type: 'RevokeRole', binding }) as const;

describe('a role', () => {
  it('is granted to a principal', () => given(roleBindingDecider).when(grant(viewer)).then(granted(viewer)));

  it('that the principal already has by the same binding is not recorded again', () =>
    given(roleBindingDecider, granted(viewer)).when(grant(viewer)).thenNothing());

  it.each([{ role: 'engine' }, { project: 'other' }, { domain: 'staging' }, { issuer: 'https://issuer.test' }])(
    'is granted and revoked independently of a binding that differs in %j',
    (difference) => {
      const other = { ...viewer, ...difference };
      given(roleBindingDecider, granted(viewer)).when(grant(other)).then(granted(other));
      given(roleBindingDecider, granted(viewer)).when(revoke(other)).thenRefused({ kind: 'binding-unknown' });
    },
  );

  it('is revoked from a principal', () =>
    given(roleBindingDecider, granted(viewer)).when(revoke(viewer)).then(revoked(viewer)));

  it('that was revoked can be granted again', () =>
    given(roleBindingDecider, granted(viewer), revoked(viewer)).when(grant(viewer)).then(granted(viewer)));

  it('that was revoked cannot be revoked again', () =>
    given(roleBindingDecider, granted(viewer), revoked(viewer))
      .when(revoke(viewer))
      .thenRefused({ kind: 'binding-unknown' }));

  it('is refused to a principal with as many bindings as are allowed, until one is revoked', () => {
    const full = Array.from({ length: MAX_BINDINGS }, (_, each) => granted({ ...viewer, project: `p${each}` }));
    given(roleBindingDecider, ...full)
      .when(grant(viewer))
      .thenRefused({ kind: 'bindings-full' });
    given(roleBindingDecider, ...full, revoked({ ...viewer, project: 'p0' }))
      .when(grant(viewer))
      .then(granted(viewer));
  });
});
