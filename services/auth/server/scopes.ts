/**
 * The scopes that a token may carry. `all`, `offline` and `access_token` are those of the clients in the field: `all`
 * stands for whatever the grants of the principal allow.
 */
export const SCOPES = ['all', 'offline', 'access_token', 'read', 'register', 'execute', 'events', 'admin'] as const;

/** Scopes of OpenID Connect: the name and the e-mail address of the person, and a refresh token. */
export const OPENID_SCOPES = ['openid', 'profile', 'email', 'offline_access'] as const;

/** The meanings of scopes, for the page that asks for consent; it does not show a scope without one. */
export const MEANINGS: Readonly<Record<string, string>> = {
  all: 'do whatever you may do',
  offline: 'stay signed in',
  offline_access: 'stay signed in',
  read: 'read definitions and executions',
  register: 'register tasks, workflows and launch plans',
  execute: 'launch and terminate executions',
  events: 'report events as an engine does',
  admin: 'administer the control plane',
  profile: 'see your name',
  email: 'see your e-mail address',
};
