import type { Binding } from './state.js';

export type RoleBindingCommand =
  /** Records nothing when the principal has the role there already. */
  | { readonly type: 'GrantRole'; readonly binding: Binding }
  /** Removes exactly this binding; others that give the same access stay. */
  | { readonly type: 'RevokeRole'; readonly binding: Binding };
