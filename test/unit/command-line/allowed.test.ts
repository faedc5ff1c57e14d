import { describe, expect, it } from 'vitest';

import { assertAllowed } from '../../../services/cli/insecure.js';
import { configure } from '../../../services/config/configuration.js';

const ISSUER = { issuer: 'https://issuer.test', audience: 'flightlog' };
const AUTH = { auth: { issuers: [ISSUER] } };
const TLS = { tls: { cert_file: 'a.pem', key_file: 'a.key' } };

/** Makes a function that throws when a server may not be started with these settings. */
const allowed = (settings: Readonly<Record<string, unknown>>) => () =>
  assertAllowed(configure(Object.entries(settings).map(([key, value]) => ({ path: [key], value, origin: 'test' }))));

describe('serving', () => {
  it.each([
    [{ insecure: true }],
    [{ insecure: true, host: '0.0.0.0', allow_insecure_remote: true }],
    [AUTH],
    [{ auth: { server: { enabled: true } } }],
    [{ ...AUTH, ...TLS, host: '0.0.0.0' }],
    [{ auth: { ...AUTH.auth, behind_tls: true }, host: '0.0.0.0' }],
  ])('is allowed with %j', (settings) => {
    expect(allowed(settings)).not.toThrow();
  });

  it.each([
    [{}, 'no issuer of tokens is configured'],
    [{ insecure: true, host: '0.0.0.0' }, 'add --allow-insecure-remote'],
    [{ ...AUTH, host: '0.0.0.0' }, 'without TLS, tokens sent to 0.0.0.0 can be read'],
    [{ ...AUTH, host: '0.0.0.0', allow_insecure_remote: true }, 'without TLS'],
    [{ ...AUTH, role: 'log' }, 'a log server does not authenticate its clients'],
  ])('is refused with %j', (settings, reason) => {
    expect(allowed(settings)).toThrow(reason);
  });

  it.each([
    [{ issuer: 'i', audience: [] }],
    [{ issuer: 'i' }],
    [{ ...ISSUER, algorithms: ['HS256'] }],
    [{ ...ISSUER, algorithms: ['none'] }],
    [{ ...ISSUER, jwks_url: 'file:///keys' }],
  ])('does not take the issuer %j', (issuer) => {
    expect(allowed({ auth: { issuers: [issuer] } })).toThrow('auth.issuers.0');
  });
});
