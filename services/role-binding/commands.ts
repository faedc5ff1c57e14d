import type { GrantedRole } from './state.js';

export type RoleBindingCommand =
  /** Grants a role; records nothing when the principal already has this binding. */
  | { readonly type: 'GrantRole'; readonly binding: GrantedRole }
  /** Revokes exactly this binding; others that give the same access stay. */
  | { readonly type: 'RevokeRole'; readonly binding: GrantedRole };
