import { describe, expect, it } from 'vitest';

import { type CookieJar, cookieJar } from '../../../services/auth/browser/cookie-jar.js';
import { sealedWith } from '../../../services/auth/browser/sealed.js';
import { pathWithin } from '../../../services/auth/browser/sessions.js';

const clock = { now: 1_000_000 };
const now = (): number => clock.now;
const BEGUN = { state: 'the-state', nonce: 'n', verifier: 'v', target: '/console' };

const jarOf = (origin: string, key = 1): CookieJar =>
  cookieJar({ origin: () => origin, seal: sealedWith(new Uint8Array(32).fill(key), now), now });

const sent = (cookie: string): string => `other=1; ${cookie.split(';', 1)[0] ?? ''}`;

describe('the cookies of browser sessions', () => {
  const jar = jarOf('https://example.com');

  it('over TLS can be set by no other host, and are sent with TLS alone', async () => {
    expect(await jar.session('token', now() + 60_000)).toMatch(
      /^__Host-flightlog_session=[^;]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Strict; Secure$/u,
    );
    expect(await jar.begun(BEGUN)).toMatch(
      /^__Secure-flightlog_sign_in_the-state=[^;]+; Path=\/callback; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
    );
  });

  it('give back what was sealed, to the same key, until it expires', async () => {
    const session = sent(await jar.session('token', now() + 60_000));
    expect(await jar.tokenIn(session)).toBe('token');
    expect(await jarOf('https://example.com', 2).tokenIn(session)).toBeUndefined();
    clock.now += 60_000;
    expect(await jar.tokenIn(session)).toBeUndefined();
  });

  it('serve one purpose, and a sign-in its own state alone', async () => {
    const begun = sent(await jar.begun(BEGUN));
    expect(await jar.begunIn(begun, 'the-state')).toMatchObject(BEGUN);
    expect(await jar.begunIn(begun.replace('the-state', 'another'), 'another')).toBeUndefined();
    expect(await jar.tokenIn(begun.replace(/__Secure[^=]*/u, '__Host-flightlog_session'))).toBeUndefined();
    for (const text of ['', 'x', '....', 'a.b.c.d.e', 'e30....'])
      expect(await jar.tokenIn(`__Host-flightlog_session=${text}`)).toBeUndefined();
  });
});

describe('the page to show after a sign-in', () => {
  it.each(['/console', '/console/a?b=c%20d', '/'])('may be %s', (path) =>
    expect(pathWithin(path, 'https://example.com')).toBe(path),
  );
  it.each([
    ...['//evil.example', '/\\evil.example', 'https://evil.example', '/\t/evil.example', 'javascript:1', 'x', ''],
    ...['/.//evil.example', '/console/..//evil.example', '/%2e//evil.example', '/./\\evil.example'],
  ])('may not be %j', (path) => expect(pathWithin(path, 'https://example.com')).toBeUndefined());
});
