import { describe, expect, it } from 'vitest';

import { passwordAuthentication } from '../../../services/auth/passwords.js';
import { type Client, hashSecret } from '../../../services/auth/server/clients.js';
import { signInLimits } from '../../../services/auth/server/sign-in-limits.js';
import type { User } from '../../../services/auth/users/users.js';
import { UNLIMITED } from '../../../services/kernel/access.js';

const clientOf = (secret: string): Client => ({
  secret_hash: hashSecret(secret),
  redirect_uris: [],
  roles: ['viewer'],
});
const ALICE: User = { password: 'a hash', roles: ['viewer'] };

/**
 * Authentication of the user `alice`, whose password is `right`, the client `engine`, whose secret is `secret`, and the
 * public client `flytectl`. Two failures in a minute are allowed for each name. `checked` are the names that were looked
 * up among the users with a password; `ask` gives the principal, or the code of the refusal.
 */
const opened = () => {
  const users = new Map([['alice', ALICE]]);
  const clients = new Map([
    ['engine', clientOf('secret')],
    ['flytectl', { redirect_uris: [], roles: [] }],
  ]);
  const checked: string[] = [];
  const passwords = passwordAuthentication({
    users: {
      find: (name) => Promise.resolve(users.get(name)),
      check: (name, password) => {
        checked.push(name);
        return Promise.resolve(password === 'right' ? users.get(name) : undefined);
      },
      count: () => Promise.resolve(users.size),
    },
    clients: { find: (id) => Promise.resolve(clients.get(id)) },
    limits: signInLimits(2, () => 0),
    issuer: () => 'here',
    accessOf: () => UNLIMITED,
    cached: 10,
  });
  const ask = async (name: string, password: string): Promise<string> =>
    passwords.callerOf({ name, password, address: '::1' }).then(
      ({ identity }) => identity.principal,
      (error: unknown) => (error as { readonly code: string }).code,
    );
  return { users, clients, checked, ask };
};

describe('callers that send a password with each call', () => {
  it('are verified once, even when several calls come at the same time', async () => {
    const { ask, checked } = opened();
    expect(await Promise.all([ask('alice', 'right'), ask('alice', 'right')])).toEqual(['alice', 'alice']);
    expect(await ask('alice', 'right')).toBe('alice');
    expect(checked).toEqual(['alice']);
  });

  it('are verified again when their record has changed', async () => {
    const { ask, clients, users } = opened();
    expect(await ask('engine', 'secret')).toBe('engine');
    clients.set('engine', clientOf('another'));
    expect(await ask('engine', 'secret')).toBe('UNAUTHENTICATED');
    expect(await ask('engine', 'another')).toBe('engine');
    expect(await ask('alice', 'right')).toBe('alice');
    users.delete('alice');
    expect(await ask('alice', 'right')).toBe('UNAUTHENTICATED');
  });

  it('are held back after too many failures, unless they were verified before', async () => {
    const { ask } = opened();
    expect(await ask('alice', 'right')).toBe('alice');
    expect([await ask('alice', '1'), await ask('alice', '2')]).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(await ask('alice', '3')).toBe('RESOURCE_EXHAUSTED');
    expect(await ask('alice', 'right')).toBe('alice');
    expect(await ask('engine', 'secret')).toBe('engine');
  });

  it('are not verified again when their record is another object with the same content', async () => {
    const { ask, checked, users } = opened();
    expect(await ask('alice', 'right')).toBe('alice');
    users.set('alice', { ...ALICE });
    expect(await ask('alice', 'right')).toBe('alice');
    expect(checked).toEqual(['alice']);
  });

  it('are never held back as clients with the right secret, however many attempts under their name have failed', async () => {
    const { ask } = opened();
    for (const wrong of ['1', '2']) expect(await ask('engine', wrong)).toBe('UNAUTHENTICATED');
    expect(await ask('engine', '3')).toBe('RESOURCE_EXHAUSTED');
    expect(await ask('engine', 'secret')).toBe('engine');
  });

  it('of a name that is held back do not use up the attempts of their address for other names', async () => {
    const { ask } = opened();
    for (let attempt = 0; attempt < 20; attempt += 1) await ask('alice', String(attempt));
    expect(await ask('bob', 'x')).toBe('UNAUTHENTICATED');
  });

  it('cannot be public clients, which have no secret', async () => {
    const { ask } = opened();
    expect(await ask('flytectl', '')).toBe('UNAUTHENTICATED');
  });
});
