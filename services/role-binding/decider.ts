import { create } from '@bufbuild/protobuf';

import {
  RoleBindingSchema,
  RoleGrantedSchema,
  RoleRevokedSchema,
} from '../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { RoleBindingCommand } from './commands.js';
import { ROLE_BINDING_CATEGORY, roleBindingCodec, type RoleBindingEvent } from './events.js';
import {
  type GrantedRole,
  evolveRoleBindings,
  hasBinding,
  initialRoleBindings,
  type RoleBindingState,
} from './state.js';

/**
 * The most bindings of one principal: each process with the role `api` keeps the bindings of all principals in memory,
 * and reads those of the caller at each check.
 */
export const MAX_BINDINGS = 200;

export type RoleBindingRefusal = { readonly kind: 'binding-unknown' | 'bindings-full' };

type RoleBindingDecision = Decision<RoleBindingEvent, RoleBindingRefusal>;

const NOTHING: RoleBindingDecision = { kind: 'accepted', events: [] };

const refused = (kind: RoleBindingRefusal['kind']): RoleBindingDecision => ({ kind: 'refused', refusal: { kind } });

const grant = (state: RoleBindingState, binding: GrantedRole): RoleBindingDecision => {
  if (hasBinding(state, binding)) return NOTHING;
  if (state.bindings.size >= MAX_BINDINGS) return refused('bindings-full');
  const data = create(RoleGrantedSchema, { binding: create(RoleBindingSchema, binding) });
  return { kind: 'accepted', events: [{ type: 'RoleGranted', data }] };
};

const revoke = (state: RoleBindingState, binding: GrantedRole): RoleBindingDecision => {
  if (!hasBinding(state, binding)) return refused('binding-unknown');
  const data = create(RoleRevokedSchema, { binding: create(RoleBindingSchema, binding) });
  return { kind: 'accepted', events: [{ type: 'RoleRevoked', data }] };
};

export const roleBindingDecider: Decider<RoleBindingState, RoleBindingCommand, RoleBindingEvent, RoleBindingRefusal> = {
  initial: initialRoleBindings,
  evolve: evolveRoleBindings,
  decide: (state, { type, binding }) => (type === 'GrantRole' ? grant(state, binding) : revoke(state, binding)),
};

const STATE_BYTES = 250;
const BINDING_BYTES = 350;

export const roleBindingAggregate: Aggregate<
  RoleBindingState,
  RoleBindingCommand,
  RoleBindingEvent,
  RoleBindingRefusal
> = {
  category: ROLE_BINDING_CATEGORY,
  decider: roleBindingDecider,
  codec: roleBindingCodec,
  payloadScope: () => 'access',
  isPermanentRefusal: () => false,
  sizeOf: ({ bindings }) => STATE_BYTES + bindings.size * BINDING_BYTES,
};
