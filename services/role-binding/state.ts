import type { RoleBinding } from '../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import type { RoleBindingEvent } from './events.js';

/** A role of a principal. An empty project or domain means all, an empty issuer every configured one. */
export type GrantedRole = Pick<RoleBinding, 'principal' | 'role' | 'project' | 'domain' | 'issuer'>;

/** The role bindings of one principal, in the order in which they were given. */
export type RoleBindingState = { readonly bindings: ReadonlyMap<string, GrantedRole> };

export const initialRoleBindings = (): RoleBindingState => ({ bindings: new Map() });

const keyOf = ({ role, project, domain, issuer }: GrantedRole): string =>
  JSON.stringify([role, project, domain, issuer]);

export const hasBinding = ({ bindings }: RoleBindingState, binding: GrantedRole): boolean =>
  bindings.has(keyOf(binding));

const bindingOf = ({ principal, role, project, domain, issuer }: GrantedRole): GrantedRole => ({
  principal,
  role,
  project,
  domain,
  issuer,
});

/** Makes a new map for each event, so that a state does not change after it was read. */
export const evolveRoleBindings = (state: RoleBindingState, { type, data }: RoleBindingEvent): RoleBindingState => {
  if (data.binding === undefined) return state;
  const binding = bindingOf(data.binding);
  const bindings = new Map(state.bindings);
  if (type === 'RoleGranted') bindings.set(keyOf(binding), binding);
  else bindings.delete(keyOf(binding));
  return { bindings };
};
