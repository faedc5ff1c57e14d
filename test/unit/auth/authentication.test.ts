import { describe, expect, it } from 'vitest';

import { bearerAuthentication } from '../../../services/auth/authentication.js';
import { unauthenticated } from '../../../services/auth/tokens/refusal.js';
import { UNLIMITED } from '../../../services/kernel/access.js';
import type { ClientCertificate } from '../../../services/kernel/ports/authentication.js';

/** The time at which the verification of every token ends. */
const UNTIL = 100;

/**
 * Authentication that accepts the tokens that begin with `ours`, each of which is its own principal; `state.verified`
 * are the tokens that the verifier was asked about.
 */
const opened = (cachedTokens = 10) => {
  const state = { now: 0, verified: [] as string[] };
  const authentication = bearerAuthentication({
    verifier: {
      isOurs: (token) => token.startsWith('ours'),
      verify: (token) => {
        state.verified.push(token);
        if (!token.startsWith('ours')) return Promise.reject(unauthenticated('no'));
        const identity = { principal: token, issuer: 'i', clientId: '', scopes: [], claims: {}, expiresAt: UNTIL };
        return Promise.resolve({ identity, until: UNTIL });
      },
    },
    metadataKey: 'flyte-authorization',
    cachedTokens,
    accessOf: () => UNLIMITED,
    // No certificate matches a rule.
    callerOfCertificate: () => undefined,
    now: () => state.now,
  });
  const ask = async (headers: Readonly<Record<string, string>>, certificate?: ClientCertificate) =>
    (
      await authentication.callerOf(
        (name) => headers[name],
        () => certificate,
      )
    ).identity.principal;
  return { state, ask };
};

describe('the caller of a call', () => {
  it('is verified once until the verification of its token ends', async () => {
    const { ask, state } = opened();
    const headers = { authorization: 'Bearer ours-1' };
    await Promise.all([ask(headers), ask(headers)]);
    await ask(headers);
    expect(state.verified).toEqual(['ours-1']);
    state.now = UNTIL;
    await ask(headers);
    expect(state.verified).toEqual(['ours-1', 'ours-1']);
  });

  it('is verified again after the clock was set back, because the verification would last too long', async () => {
    const { ask, state } = opened();
    const headers = { authorization: 'Bearer ours-1' };
    state.now = 50;
    await ask(headers);
    await ask(headers);
    state.now = 0;
    await ask(headers);
    expect(state.verified).toEqual(['ours-1', 'ours-1']);
  });

  it('is the one of its own token, not the one of the call before', async () => {
    const { ask } = opened();
    const callers = ['ours-1', 'ours-1', 'ours-1', 'ours-2', 'ours-1'];
    for (const token of callers) expect(await ask({ authorization: `Bearer ${token}` })).toBe(token);
    expect(await ask({ authorization: 'Basic ours-1', 'flyte-authorization': 'Bearer ours-2' })).toBe('ours-2');
    expect(await ask({ authorization: 'Basic ours-1', 'flyte-authorization': 'Bearer ours-1' })).toBe('ours-1');
  });

  it('is verified again when other tokens have replaced its own in the cache', async () => {
    const { ask, state } = opened(1);
    for (const token of ['ours-1', 'ours-2', 'ours-1']) await ask({ authorization: `Bearer ${token}` });
    expect(state.verified).toHaveLength(3);
  });

  it.each([
    [{ authorization: 'Bearer ours-1', 'flyte-authorization': 'Bearer ours-2' }, 'ours-1'],
    [{ authorization: 'Bearer theirs', 'flyte-authorization': 'Bearer ours-2' }, 'ours-2'],
    [{ authorization: 'Basic abc', 'flyte-authorization': 'Bearer ours-2' }, 'ours-2'],
    [{ 'flyte-authorization': 'bearer ours-2' }, 'ours-2'],
    // White space around the value of a field is no part of it (RFC 9110, section 5.5).
    [{ authorization: ' \t Bearer ours-1 \t ' }, 'ours-1'],
  ])('of %j is %s', async (headers, principal) => {
    expect(await opened().ask(headers as unknown as Record<string, string>)).toBe(principal);
  });

  it.each([
    [{}],
    [{ authorization: '' }],
    [{ authorization: 'Bearer' }],
    [{ authorization: 'Bearer ours ours' }],
    [{ authorization: 'Basic ours-1' }],
    [{ authorization: 'Bearer theirs' }],
  ])('is UNAUTHENTICATED with %j', async (headers) => {
    await expect(opened().ask(headers as Record<string, string>)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('is missing without a token, and the error says when a certificate was sent that matches no rule', async () => {
    const certificate = { commonName: 'engine', dnsNames: [], uris: [], expiresAt: 100 };
    await expect(opened().ask({})).rejects.toThrow('the request has no bearer token');
    await expect(opened().ask({}, certificate)).rejects.toThrow('no rule of auth.certificates matches');
  });
});
