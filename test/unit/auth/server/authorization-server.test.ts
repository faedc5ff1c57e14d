import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  type AuthorizationServer,
  authorizationServer,
} from '../../../../services/auth/server/authorization-server.js';
import { BROWSER_CLIENT } from '../../../../services/auth/server/browser-client.js';
import { clientsFile, clientsOf, hashSecret } from '../../../../services/auth/server/clients.js';
import { serverMetadata } from '../../../../services/auth/server/endpoints.js';
import type { SignInAttempt } from '../../../../services/auth/server/sign-in-attempt.js';
import { currentKeys } from '../../../../services/auth/server/signing-keys.js';
import { hashPassword } from '../../../../services/auth/users/password-hash.js';
import { usersFile, usersOf } from '../../../../services/auth/users/users.js';
import { sqliteAuthorizationState } from '../../../../services/store/authorization/sqlite-authorization-state.js';
import { openBrowser } from '../../../support/browser/browser.js';
import { begin, claimsOf, getCode, post, redeem, refresh } from '../../../support/browser/sign-in.js';

const PASSWORD = 'marked-password-of-alice';
const SECRET = 'marked-secret-of-the-engine';
/** The parameters of scrypt with a small cost. */
const CHEAP = { ln: 10, r: 8, p: 1 };
const FAILURES_PER_MINUTE = 5;
const REFRESH_SECONDS = 3_600;
const MINUTE_MS = 60_000;
const ALICE = { name: 'alice', password: PASSWORD };

/** The shortest length of a code verifier in PKCE (RFC 7636). */
const VERIFIER_LENGTH = 43;

const directory = mkdtempSync(join(tmpdir(), 'flightlog-oidc-'));
let http: Server;
let issuer = '';
let server: AuthorizationServer;
const errors: Error[] = [];
const attempts: SignInAttempt[] = [];
/** The time by which the clock of the server is ahead. */
let passedMs = 0;

/** Opens the server on the state of the directory, as a process does at its start. */
const openServer = async (): Promise<void> => {
  const clients = new Map([
    ['engine', { secret_hash: hashSecret(SECRET), redirect_uris: [], roles: ['engine'] }],
    ['page', { secret_hash: hashSecret(SECRET), redirect_uris: ['https://page.example.com/callback'], roles: [] }],
  ]);
  server = authorizationServer({
    issuer: '',
    state: sqliteAuthorizationState(directory),
    users: usersOf(usersFile(join(directory, 'users.json'))),
    clients: clientsOf(clientsFile(join(directory, 'clients.json')), clients),
    lifetimes: { accessSeconds: 600, refreshSeconds: REFRESH_SECONDS },
    rotateKeysAfterMs: 86_400_000, // a day
    failuresPerMinute: FAILURES_PER_MINUTE,
    isBehindProxy: false,
    onError: (error) => errors.push(error),
    onAttempt: (attempt) => attempts.push(attempt),
    now: () => Date.now() + passedMs,
  });
  await server.listensAt(issuer);
};

beforeAll(async () => {
  http = createServer((request, response) => void server.answer(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const alice = { password: await hashPassword(PASSWORD, CHEAP), roles: ['administrator'], name: 'Alice A.' };
  await usersFile(join(directory, 'users.json')).change(() => new Map([['alice', alice]]));
  await openServer();
});

beforeEach(() => {
  passedMs += MINUTE_MS; // so that failed attempts of the test before do not count
});

afterAll(async () => {
  await server.close();
  http.close();
  rmSync(directory, { recursive: true });
});

/** Closes the server, which loses its memory, and opens another one on the same state. */
const restart = async (): Promise<void> => {
  await server.close();
  await openServer();
};

describe('discovery', () => {
  it('is served under both well-known names, with the addresses of the issuer', async () => {
    const [openid, oauth] = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (name) => {
        const response = await fetch(`${issuer}/.well-known/${name}`, { headers: { host: 'elsewhere.example.com' } });
        return (await response.json()) as Record<string, unknown>;
      }),
    );
    expect(oauth).toEqual(openid);
    expect(openid).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/oauth2/authorize`,
      token_endpoint: `${issuer}/oauth2/token`,
      device_authorization_endpoint: `${issuer}/oauth2/device/authorize`,
      revocation_endpoint: `${issuer}/oauth2/revoke`,
      jwks_uri: `${issuer}/oauth2/jwks`,
      code_challenge_methods_supported: ['S256'],
      scopes_supported: expect.arrayContaining([...serverMetadata(issuer).scopesSupported!, 'openid']) as unknown,
    });
  });
});

describe('client credentials', () => {
  it('give a signed token with audience, scope and roles of the client', async () => {
    const fields = { grant_type: 'client_credentials', scope: 'all' };
    const { status, body } = await post(`${issuer}/oauth2/token`, fields, `engine:${SECRET}`);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', expires_in: 600, scope: 'all' },
    });
    const keys = createRemoteJWKSet(new URL(`${issuer}/oauth2/jwks`));
    const { payload, protectedHeader } = await jwtVerify(body['access_token'] ?? '', keys, {
      issuer,
      audience: issuer,
    });
    expect(payload).toMatchObject({ sub: 'engine', client_id: 'engine', scope: 'all', roles: ['engine'] });
    expect(await server.keyOf(protectedHeader.kid ?? '')).toMatchObject({ type: 'public' });
  });

  it.each([
    ['a wrong secret', 'engine:wrong', 'client_credentials'],
    ['an unknown client', `nobody:${SECRET}`, 'client_credentials'],
    ['a grant that the client does not have', `engine:${SECRET}`, 'password'],
  ])('are refused for %s', async (_what, basic, grant) => {
    const { status, body } = await post(`${issuer}/oauth2/token`, { grant_type: grant }, basic);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body['access_token']).toBeUndefined();
  });
});

describe('the code flow', () => {
  it('signs a person in by password and consent, on any port of the loopback address', async () => {
    const code = await getCode(issuer, ALICE);
    const { status, body } = await redeem(issuer, code);
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({
      sub: 'alice',
      client_id: 'flytectl',
      aud: issuer,
      scope: 'all offline',
      roles: ['administrator'],
      preferred_username: 'alice',
    });
    expect(body['refresh_token']).toBeDefined();
  });

  it('gives codes that need no escaping in a URL', async () => {
    const { code } = await getCode(issuer, ALICE);
    expect(code).toMatch(/^[\w-]+$/u);
  });

  it('refuses an unknown redirect address, and a request without a code challenge', async () => {
    const elsewhere = await openBrowser().open(begin(issuer, 'all', 'https://elsewhere.example.com/callback').url);
    expect({ status: elsewhere.status, at: new URL(elsewhere.url).origin }).toEqual({ status: 400, at: issuer });
    const { url } = begin(issuer);
    const plain = await openBrowser().open(url.replace(/&code_challenge=[^&]*&code_challenge_method=S256/u, ''));
    expect(new URL(plain.url).searchParams.get('error')).toBe('invalid_request');
  });

  it('takes a nonce without the scope openid, which clients in Go send', async () => {
    const { url } = begin(issuer, 'all offline');
    const { status, text } = await openBrowser().open(`${url}&nonce=some-nonce`);
    expect(status).toBe(200);
    expect(text).toContain('name="password"');
  });

  it('takes a code once: the second use revokes the refresh token of the first', async () => {
    const code = await getCode(issuer, ALICE);
    const first = await redeem(issuer, code);
    const second = await redeem(issuer, code);
    expect([first.status, second.status]).toEqual([200, 400]);
    expect((await refresh(issuer, first.body['refresh_token'])).status).toBe(400);
  });

  it('gives tokens to at most one of several requests that use one code at once', async () => {
    const code = await getCode(issuer, ALICE);
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(issuer, code)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  it('refuses a code with another code verifier', async () => {
    const code = await getCode(issuer, ALICE);
    expect((await redeem(issuer, { ...code, verifier: 'x'.repeat(VERIFIER_LENGTH) })).status).toBe(400);
  });

  it('continues after a restart between any two steps, and takes the code once', async () => {
    const { url, verifier, redirect } = begin(issuer);
    const browser = openBrowser();
    const login = await browser.open(url);
    await restart();
    const consent = await browser.submit(login, '/login', ALICE);
    await restart();
    const end = await browser.submit(consent, '/consent');
    await restart();
    const code = { code: new URL(end.url).searchParams.get('code') ?? '', verifier, redirect };
    const first = await redeem(issuer, code);
    await restart();
    expect([first.status, (await redeem(issuer, code)).status]).toEqual([200, 400]);
  });
});

/** Signs Alice in, and gives the refresh token. */
const signIn = async () => (await redeem(issuer, await getCode(issuer, ALICE))).body['refresh_token'];

describe('the client of the console', () => {
  it('needs no consent, also after its grant was revoked', async () => {
    const { url, verifier, redirect } = begin(issuer, 'openid profile all', `${issuer}/callback`);
    const begun = url.replace('client_id=flytectl', `client_id=${BROWSER_CLIENT}`);
    const browser = openBrowser();
    const end = await browser.submit(await browser.open(begun), '/login', ALICE);
    const code = new URL(end.url).searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect };
    const use = () => post(`${issuer}/oauth2/token`, { ...fields, client_id: BROWSER_CLIENT });
    expect([(await use()).status, (await use()).status]).toEqual([200, 400]); // the second use revokes the grant
    expect((await browser.open(begun)).url).toContain(`${issuer}/callback?code=`);
  });
});

describe('a key that another process has made', () => {
  it('is found for all tokens that need it at once', async () => {
    const state = sqliteAuthorizationState(directory);
    const lifetimes = { rotateAfterMs: 0, publishedMs: Infinity };
    const { public: keys } = await currentKeys(state, Date.now() + passedMs + MINUTE_MS, lifetimes);
    await state.close();
    const newest = [...keys.keys()].at(-1) ?? '';
    const found = await Promise.all([server.keyOf(newest), server.keyOf(newest)]);
    expect(found.map((key) => key?.type)).toEqual(['public', 'public']);
  });
});

describe('refresh tokens', () => {
  it('are replaced at each use; using a replaced one again revokes the newest as well', async () => {
    const first = await signIn();
    const second = (await refresh(issuer, first)).body['refresh_token'];
    expect(second).not.toBe(first);
    await restart();
    const third = await refresh(issuer, second);
    expect(third.status).toBe(200);
    expect((await refresh(issuer, second)).status).toBe(400);
    expect((await refresh(issuer, third.body['refresh_token'])).status).toBe(400);
  });

  it('give tokens to at most one of several requests that use one refresh token at once', async () => {
    const token = await signIn();
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(issuer, token)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  it('are refused after the account is removed from the state, as by `flightlog user passwd`', async () => {
    const before = await signIn();
    const state = sqliteAuthorizationState(directory);
    await state.removeAccount(ALICE.name);
    await state.close();
    expect((await refresh(issuer, before)).status).toBe(400);
    expect((await refresh(issuer, await signIn())).status).toBe(200);
  });

  it('are not given without the scope offline, and are refused once revoked', async () => {
    expect((await redeem(issuer, await getCode(issuer, ALICE, 'all'))).body['refresh_token']).toBeUndefined();
    const token = await signIn();
    await post(`${issuer}/oauth2/revoke`, { token: token ?? '', client_id: 'flytectl' });
    expect((await refresh(issuer, token)).status).toBe(400);
  });
});

describe('the device flow', () => {
  const start = () => post(`${issuer}/oauth2/device/authorize`, { client_id: 'flytectl', scope: 'all offline' });
  const poll = (code: string | undefined) =>
    post(`${issuer}/oauth2/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'flytectl',
      device_code: code ?? '',
    });

  it('connects a device whose code a person has typed and confirmed', async () => {
    const { body } = await start();
    expect((await poll(body['device_code'])).body).toMatchObject({ error: 'authorization_pending' });
    const browser = openBrowser();
    const form = await browser.open(body['verification_uri'] ?? '');
    const confirm = await browser.submit(form, '/oauth2/device', { user_code: body['user_code'] ?? '' });
    expect(confirm.text).toContain(body['user_code']);
    const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
    const consent = await browser.submit(login, '/login', ALICE);
    const done = await browser.submit(consent, '/consent');
    expect(done.text).toContain('Device connected');
    await restart();
    const tokens = await poll(body['device_code']);
    expect(tokens.status).toBe(200);
    expect(claimsOf(tokens.body['access_token'])).toMatchObject({ sub: 'alice' });
    expect((await poll(body['device_code'])).status).toBe(400);
  });

  it('gives the interval of polls in seconds, and fills the form with the code in the address, without a script', async () => {
    const { body } = await start();
    expect(body['interval']).toBe(5);
    const browser = openBrowser();
    const twice = `user_code=${body['user_code'] ?? ''}&user_code=`; // the first one counts
    const form = await browser.open(`${body['verification_uri'] ?? ''}?${twice}`);
    expect(form.text).toContain(`value="${body['user_code'] ?? ''}"`);
    expect(form.text).not.toContain('<script');
    const confirm = await browser.submit(form, '/oauth2/device');
    expect(confirm.text).toContain('wants to act for you');
  });

  it('sends a browser that has lost its session to a new form', async () => {
    const address = `${issuer}/oauth2/device`;
    const form = new URLSearchParams({ xsrf: 'of before', user_code: 'ABCD-EFGH' });
    const lost = await fetch(address, { method: 'POST', body: form, redirect: 'manual' });
    expect([lost.status, lost.headers.get('location')]).toEqual([303, address]);
    const again = await fetch(address, { method: 'POST', body: form });
    expect([again.status, again.url]).toEqual([200, address]);
    expect(await again.text()).toContain('name="user_code"');
  });

  it('answers access_denied to a device that the person refuses', async () => {
    const { body } = await start();
    const browser = openBrowser();
    const form = await browser.open(body['verification_uri'] ?? '');
    const confirm = await browser.submit(form, '/oauth2/device', { user_code: body['user_code'] ?? '' });
    await browser.submit(confirm, '/oauth2/device', { abort: 'yes' });
    expect((await poll(body['device_code'])).body).toMatchObject({ error: 'access_denied' });
  });
});

describe('the pages', () => {
  it('run no script, forbid frames, and say that the user name or the password is wrong', async () => {
    const browser = openBrowser();
    const login = await browser.open(begin(issuer).url);
    expect(login.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/u);
    expect(login.text).not.toContain('<script');
    const again = await browser.submit(login, '/login', { name: '<b>alice', password: 'wrong' });
    expect(again.text).toContain('&lt;b&gt;alice');
    expect(again.text).toContain('The user name or the password is wrong.');
  });

  it.each([
    ['http://localhost:53593/callback', 'http://localhost:53593'],
    ['http://[::1]:53593/callback', 'http:'], // browsers ignore a source with an IPv6 address
  ])('let their forms lead to %s', async (redirect, source) => {
    const login = await openBrowser().open(begin(issuer, 'all', redirect).url);
    expect(login.headers.get('content-security-policy')).toContain(`; form-action 'self' ${source}; `);
  });

  it('open only in the browser that began the sign-in, and accept no form from another site', async () => {
    const login = await openBrowser().open(begin(issuer).url);
    const stranger = await openBrowser().open(login.url);
    expect(stranger.status).toBe(400);
    const forged = await fetch(`${login.url}/login`, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } });
    expect(forged.status).toBe(404);
  });

  it('do not take a store that cannot be read for an expired sign-in', async () => {
    const file = join(directory, 'users.json');
    const users = readFileSync(file);
    const browser = openBrowser();
    const login = await browser.open(begin(issuer).url);
    writeFileSync(file, 'no JSON');
    const failed = await browser.submit(login, '/login', ALICE).finally(() => writeFileSync(file, users));
    expect(failed.status).toBe(503);
    expect(errors.splice(0)).toEqual([expect.objectContaining({ code: 'store-unavailable' })]);
  });

  it('send the client an error when the person refuses', async () => {
    const browser = openBrowser();
    const end = await browser.submit(await browser.open(begin(issuer).url), '/abort');
    expect(Object.fromEntries(new URL(end.url).searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'the-state',
    });
  });
});

describe('attempts to sign in', () => {
  /** The attempts after the first `count`. */
  const since = (count: number) =>
    attempts.slice(count).map(({ action, principal, clientId, code }) => [action, principal, clientId, code]);

  it('of a person are reported with their results', async () => {
    const before = attempts.length;
    const browser = openBrowser();
    const login = await browser.open(begin(issuer).url);
    await browser.submit(login, '/login', { name: 'alice', password: 'wrong' });
    await redeem(issuer, await getCode(issuer, ALICE));
    expect(since(before)).toEqual([
      ['login', 'alice', 'flytectl', 'UNAUTHENTICATED'],
      ['login', 'alice', 'flytectl', 'OK'],
      ['/oauth2/token', 'alice', 'flytectl', 'OK'],
    ]);
    expect(attempts.at(-1)?.address).toContain('127.0.0.1');
  });

  it('of a program are reported with their results', async () => {
    const before = attempts.length;
    const fields = { grant_type: 'client_credentials' };
    for (const secret of ['wrong', SECRET]) await post(`${issuer}/oauth2/token`, fields, `engine:${secret}`);
    expect(since(before)).toEqual([
      ['/oauth2/token', '', 'engine', 'UNAUTHENTICATED'],
      ['/oauth2/token', '', 'engine', 'OK'],
    ]);
  });

  it('are reported without a typed name that no user or client has', async () => {
    const before = attempts.length;
    const browser = openBrowser();
    const login = await browser.open(begin(issuer).url);
    await browser.submit(login, '/login', { name: PASSWORD, password: 'alice' });
    await post(`${issuer}/oauth2/token`, { grant_type: 'client_credentials' }, `${SECRET}:engine`);
    expect(since(before)).toEqual([
      ['login', '', 'flytectl', 'UNAUTHENTICATED'],
      ['/oauth2/token', '', '', 'UNAUTHENTICATED'],
    ]);
    expect(JSON.stringify(attempts)).not.toContain('marked');
  });

  it('that are refused by the limit are reported as well', async () => {
    const before = attempts.length;
    const fields = { grant_type: 'client_credentials' };
    for (let each = 0; each <= FAILURES_PER_MINUTE; each += 1)
      await post(`${issuer}/oauth2/token`, fields, 'engine:wrong');
    expect(attempts.slice(before).at(-1)).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
});

describe('limits of failed attempts', () => {
  it('hold back a name whose password is guessed', async () => {
    const browser = openBrowser();
    const login = await browser.open(begin(issuer).url);
    for (let attempt = 0; attempt < FAILURES_PER_MINUTE; attempt += 1) {
      const page = await browser.submit(login, '/login', { name: 'alice', password: 'wrong' });
      expect(page.status).toBe(200);
    }
    const refused = await browser.submit(login, '/login', ALICE);
    expect(refused).toMatchObject({ status: 429 });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('hold back guesses at the secret of a client, in any spelling of its id, and not the client itself', async () => {
    const ask = (secret: string, id = 'engine') =>
      post(`${issuer}/oauth2/token`, { grant_type: 'client_credentials' }, `${id}:${secret}`);
    for (let token = 0; token < 10; token += 1) expect((await ask(SECRET)).status).toBe(200);
    // As many as there may be failures in a minute.
    const spellings = ['engine', '%65ngine', 'e%6Egine', 'en%67ine', '%65%6egine'];
    for (const id of spellings) expect((await ask('wrong', id)).status).toBe(401);
    expect((await ask('wrong')).status).toBe(429);
    expect((await ask(SECRET)).status).toBe(200);
  });

  it.each(['authorize', 'device', 'logout'])(
    'hold back an address whose browsers ask for /oauth2/%s without being signed in, because that stores something',
    async (endpoint) => {
      const address = endpoint === 'authorize' ? begin(issuer).url : `${issuer}/oauth2/${endpoint}`;
      const ask = () => fetch(address, { redirect: 'manual', headers: { accept: 'text/html' } });
      for (let each = 0; each < 30; each += 1) expect((await ask()).status).toBeLessThan(400);
      const refused = await ask();
      expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 2]);
      expect(await refused.text()).toContain('Try again in 2 seconds.');
      expect(attempts.at(-1)).toMatchObject({ action: `/oauth2/${endpoint}`, code: 'RESOURCE_EXHAUSTED' });
    },
  );

  it('answer programs in JSON, also those whose HTTP library prefers HTML by default, as that of Java', async () => {
    const requestToken = () =>
      fetch(`${issuer}/oauth2/token`, {
        method: 'POST',
        headers: {
          accept: 'text/html, image/gif, image/jpeg, */*; q=.2',
          authorization: `Basic ${btoa('engine:wrong')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
    for (let each = 0; each < 5; each += 1) expect((await requestToken()).status).toBe(401);
    const refused = await requestToken();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
  });

  it('do not count the sign-ins of a browser that is signed in', async () => {
    const browser = openBrowser();
    await browser.submit(await browser.open(begin(issuer).url), '/login', ALICE);
    for (let each = 0; each < 40; each += 1)
      expect((await browser.open(begin(issuer).url)).text).toContain('You are signed in as');
  });

  it('count requests to an endpoint whose path is written in another way', async () => {
    const before = attempts.length;
    const paths = [
      '/oauth2/token',
      '/oauth2/TOKEN',
      '/oauth2/token/',
      '/oauth2/Token/',
      '/oauth2/tokeN',
      '/oauth2/Token',
    ];
    const statuses: number[] = [];
    for (const path of paths)
      statuses.push((await post(`${issuer}${path}`, { grant_type: 'client_credentials' }, 'engine:wrong')).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect(new Set(attempts.slice(before).map(({ action }) => action))).toEqual(new Set(['/oauth2/token']));
  });

  it('do not count a request that fails because a store cannot be read', async () => {
    const before = attempts.length;
    const file = join(directory, 'clients.json');
    writeFileSync(file, 'no JSON');
    const statuses: number[] = [];
    for (let each = 0; each <= FAILURES_PER_MINUTE; each += 1)
      statuses.push(
        (await post(`${issuer}/oauth2/token`, { grant_type: 'client_credentials' }, 'other:secret')).status,
      );
    rmSync(file);
    expect(statuses).toEqual(Array(6).fill(500));
    expect(attempts.slice(before).map(({ code }) => code)).toEqual(Array(6).fill('UNAVAILABLE'));
    expect(errors.splice(0)).toHaveLength(6);
  });

  it('do not count a request with an empty secret, which clients in Go send first', async () => {
    const before = attempts.length;
    const fields = { grant_type: 'refresh_token', refresh_token: 'unknown' };
    for (let each = 0; each < 40; each += 1)
      expect((await post(`${issuer}/oauth2/token`, fields, 'flytectl:')).status).toBe(400);
    expect(attempts).toHaveLength(before);
  });
});

it('the authorization server writes no password, secret, code or token to its files', async () => {
  const code = await getCode(issuer, ALICE);
  const { body } = await redeem(issuer, code);
  await server.close();
  const written = readdirSync(directory)
    .map((name) => readFileSync(join(directory, name), 'latin1'))
    .join('\n');
  await openServer();
  for (const secret of [PASSWORD, SECRET, code.code, code.verifier, body['access_token'], body['refresh_token']])
    expect(written.includes(secret ?? ''), `${secret} is in a file`).toBe(false);
  expect(errors).toEqual([]);
});

// The last test, because it sets the clock forward.
describe('a refresh token', () => {
  afterAll(() => vi.useRealTimers());

  it('can be used as long after each use as after the sign-in, and not longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const halfLifetimeMs = (REFRESH_SECONDS * 1_000) / 2;
    let token = await signIn();
    for (let use = 0; use < 3; use += 1) {
      vi.setSystemTime(Date.now() + halfLifetimeMs);
      const { status, body } = await refresh(issuer, token);
      expect(status).toBe(200);
      token = body['refresh_token'];
    }
    vi.setSystemTime(Date.now() + 2 * halfLifetimeMs);
    expect((await refresh(issuer, token)).status).toBe(400);
  });
});
