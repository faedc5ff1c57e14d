import inject from 'light-my-request';
import { ResponseBodyError } from 'openid-client';
import { describe, expect, it } from 'vitest';

import { type CookieJar, cookieJar } from '../../../services/auth/browser/cookie-jar.js';
import { sealerWith } from '../../../services/auth/browser/sealed.js';
import { signInLimits } from '../../../services/auth/server/sign-in-limits.js';
import { browserSessions, pathWithin } from '../../../services/auth/browser/sessions.js';

const MINUTE_MS = 60_000;
const clock = { now: 1_000_000 };
const now = (): number => clock.now;
/** A sign-in that was begun, as its cookie keeps it. */
const BEGUN = { state: 'the-state', nonce: 'n', verifier: 'v', target: '/console' };

/** The cookies of a server at a URL; other `key`s cannot read them. */
const jarOf = (origin: string, key = 1): CookieJar =>
  cookieJar({ baseUrl: () => origin, sealer: sealerWith(new Uint8Array(32).fill(key), now), now });

/** The header with which a browser sends back a cookie, beside another one. */
const sent = (cookie: string): string => `other=1; ${cookie.split(';', 1)[0] ?? ''}`;

describe('the cookies of browser sessions', () => {
  const jar = jarOf('https://example.com');

  it('over TLS are bound to the host, not readable by scripts, and sent with TLS alone', async () => {
    expect(await jar.session('token', now() + MINUTE_MS)).toMatch(
      /^__Host-flightlog_session=[^;]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Strict; Secure$/u,
    );
    expect(await jar.begun(BEGUN)).toMatch(
      /^__Host-flightlog_sign_in_the-state=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
    );
  });

  it('give back the token sealed in them, with the same key, until it expires', async () => {
    const session = sent(await jar.session('token', now() + MINUTE_MS));
    expect(await jar.tokenIn(session)).toBe('token');
    expect(await jarOf('https://example.com', 2).tokenIn(session)).toBeUndefined();
    clock.now += MINUTE_MS;
    expect(await jar.tokenIn(session)).toBeUndefined();
  });

  it('of a sign-in are valid for their own state alone, and not as a session; malformed ones are not valid', async () => {
    const begun = sent(await jar.begun(BEGUN));
    expect(await jar.begunIn(begun, 'the-state')).toMatchObject(BEGUN);
    expect(await jar.begunIn(begun.replace('the-state', 'another'), 'another')).toBeUndefined();
    expect(await jar.tokenIn(begun.replace(/__Host[^=]*/u, '__Host-flightlog_session'))).toBeUndefined();
    // The last is in the form of encrypted tokens, with the header {}.
    for (const text of ['', 'x', '....', 'a.b.c.d.e', 'e30....'])
      expect(await jar.tokenIn(`__Host-flightlog_session=${text}`)).toBeUndefined();
  });
});

describe('the cookies of a server below a path prefix', () => {
  const jar = jarOf('https://example.com/tools/flightlog');

  it('have that prefix as their path, and can be read', async () => {
    const session = await jar.session('token', now() + MINUTE_MS);
    expect(session).toMatch(/^__Secure-flightlog_session=[^;]+; Path=\/tools\/flightlog; .*; Secure$/u);
    expect(await jar.tokenIn(sent(session))).toBe('token');
    const begun = await jar.begun(BEGUN);
    expect(begun).toMatch(/^__Secure-flightlog_sign_in_the-state=[^;]+; Path=\/tools\/flightlog; /u);
    expect(await jar.begunIn(sent(begun), 'the-state')).toMatchObject(BEGUN);
    expect(jar.endSession()).toMatch(/^__Secure-flightlog_session=; Path=\/tools\/flightlog; Max-Age=0; /u);
  });
});

describe('a return from the issuer', () => {
  /** The error of an issuer that refuses the code. */
  const refusal = new ResponseBodyError('invalid_grant', {
    cause: { error: 'invalid_grant' },
    response: new Response(null, { status: 400 }),
  });
  /** A server whose issuer fails; `back` is the return of a browser from it, and `attempts` the codes recorded. */
  const returning = (failure: () => Error) => {
    const attempts: string[] = [];
    const jar = jarOf('https://example.com');
    const sessions = browserSessions({
      baseUrl: () => 'https://example.com',
      jar,
      issuer: { scope: '', audience: '', configuration: () => Promise.reject(failure()) },
      authentication: { callerOf: () => Promise.reject(new Error('no test calls this')) },
      isBehindProxy: false,
      limits: signInLimits(1, now), // a failure in a minute for each name, six for each network
      onAttempt: ({ code }) => attempts.push(code),
      onFailure: () => undefined,
      now,
    });
    const back = async () =>
      inject((request, response) => void sessions.answer(request, response), {
        url: '/callback?state=the-state&code=c',
        headers: { cookie: sent(await jar.begun(BEGUN)) },
      });
    return { back, attempts };
  };

  it('is answered with 503 while the issuer is away, and keeps the cookie of the sign-in for another try', async () => {
    for (const failure of [
      new TypeError('fetch failed'),
      Object.assign(new Error('slow'), { code: 'OAUTH_TIMEOUT' }),
      new Error('unexpected', { cause: new Response(null, { status: 502 }) }),
    ]) {
      const { back, attempts } = returning(() => failure);
      const { statusCode, headers } = await back();
      expect([statusCode, headers['set-cookie'], attempts]).toEqual([503, undefined, ['UNAVAILABLE']]);
    }
  });

  it('does not count as a failed sign-in while the issuer is away', async () => {
    const { back } = returning(() => new TypeError('fetch failed'));
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await back()).statusCode).toBe(503);
  });

  it('is answered with 403 when the issuer refuses it, which removes the cookie, and with 429 after six of these', async () => {
    const { back, attempts } = returning(() => refusal);
    const answers = [];
    for (let attempt = 0; attempt < 7; attempt += 1) answers.push(await back());
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([403, 403, 403, 403, 403, 403, 429]);
    expect(answers[0]?.headers['set-cookie']).toContain('Max-Age=0');
    expect(answers[6]?.headers['retry-after']).toBe('10'); // six in a minute: one in ten seconds
    expect(attempts.slice(-2)).toEqual(['UNAUTHENTICATED', 'RESOURCE_EXHAUSTED']);
  });
});

describe('the cookies of sign-ins that were begun', () => {
  it('are removed, the oldest first, when a browser has more than four', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((state) => `__Host-flightlog_sign_in_${state}=x`);
    const jar = jarOf('https://example.com');
    expect(jar.endOld(names.slice(0, 4).join('; '))).toEqual([]);
    expect(jar.endOld(`other=1; ${names.join('; ')}`).map((cookie) => cookie.split(';', 1)[0])).toEqual([
      '__Host-flightlog_sign_in_a=',
      '__Host-flightlog_sign_in_b=',
    ]);
  });
});

describe('the page to show after a sign-in', () => {
  it.each(['/console', '/console/a?b=c%20d', '/'])('may be %s', (path) =>
    expect(pathWithin(path, 'https://example.com')).toBe(path),
  );
  it.each([
    ['https://example.com/console/a?b=c', '/console/a?b=c'],
    ['https://example.com', '/'],
    ['HTTPS://EXAMPLE.com:443/console#top', '/console'],
  ])('may be given as an address of this server, as by flyteconsole: %s', (address, path) =>
    expect(pathWithin(address, 'https://example.com')).toBe(path),
  );
  it.each([
    ...['http://example.com/console', 'https://example.com:8443/console', 'https://example.com//evil.example'],
    ...['https://example.com@evil.example/', 'https://example.com.evil.example/', 'https:evil.example', 'https://'],
    ...['//evil.example', '/\\evil.example', 'https://evil.example', '/\t/evil.example', 'javascript:1', 'x', ''],
    ...['/.//evil.example', '/console/..//evil.example', '/%2e//evil.example', '/./\\evil.example'],
  ])('may not be %j', (path) => expect(pathWithin(path, 'https://example.com')).toBeUndefined());
  it.each(['/tools/flightlog', '/tools/flightlog/console?a=b', '/tools/flightlog/'])(
    'below a prefix may be %s',
    (path) => {
      expect(pathWithin(path, 'https://example.com/tools/flightlog')).toBe(path);
      expect(pathWithin(`https://example.com${path}`, 'https://example.com/tools/flightlog')).toBe(path);
    },
  );
  it.each([
    ...['/', '/console', '/tools/flightlog-other', '/tools/flightlog/../other', '//tools/flightlog/'],
    ...['https://example.com/console', 'https://example.com/tools/flightlog/../other'],
  ])('below a prefix may not be %s', (path) =>
    expect(pathWithin(path, 'https://example.com/tools/flightlog')).toBeUndefined(),
  );
});
