import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { customFetch } from 'openid-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { externalIssuer } from '../../../../services/auth/browser/issuer-client.js';
import {
  type AuthorizationServer,
  authorizationServer,
  type AuthorizationServerOptions,
} from '../../../../services/auth/server/authorization-server.js';
import { clientsFile, clientsOf, hashSecret } from '../../../../services/auth/server/clients.js';
import type { SignInAttempt } from '../../../../services/auth/server/sign-in-attempt.js';
import { UPSTREAM_CALLBACK, type UpstreamProvider } from '../../../../services/auth/server/upstream.js';
import { hashPassword } from '../../../../services/auth/users/password-hash.js';
import { usersFile, usersOf } from '../../../../services/auth/users/users.js';
import { sqliteAuthorizationState } from '../../../../services/store/authorization/sqlite-authorization-state.js';
import { type Browser, openBrowser, type Page } from '../../../support/browser/browser.js';
import { begin, claimsOf, redeem, refresh } from '../../../support/browser/sign-in.js';

const BOB = { name: 'bob', password: 'password-of-bob' };
const CAROL = { name: 'carol', password: 'password-of-carol' };
const SECRET = 'marked-secret-of-the-client';
const MINUTE_MS = 60_000;
const EIGHT_HOURS_MS = 8 * 60 * MINUTE_MS;

const directory = mkdtempSync(join(tmpdir(), 'flightlog-upstream-'));
/** The id of the server under test as a client of the other server, whose tokens have it as their audience. */
const CLIENT = 'web page';
/** The attempts to sign in at either server, as they are reported. */
const attempts: SignInAttempt[] = [];
/** The messages of the errors that either server logs. */
const failures: string[] = [];
/** The time by which the clocks of both servers are ahead. */
let passedMs = 0;

/** The parameters of scrypt with a small cost. */
const CHEAP = { ln: 10, r: 8, p: 1 };

type Serving = { readonly server: AuthorizationServer; readonly http: Server; readonly issuer: string };

/** Starts an authorization server on a free port, with users from `NAME.json`. */
const serve = async (name: string, more: Partial<AuthorizationServerOptions>): Promise<Serving> => {
  const http = createServer((request, response) => void server.answer(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server = authorizationServer({
    issuer,
    state: sqliteAuthorizationState(mkdtempSync(join(directory, name))),
    users: usersOf(usersFile(join(directory, `${name}.json`))),
    clients: clientsOf(clientsFile(join(directory, 'none.json')), new Map()),
    lifetimes: { accessSeconds: 600, refreshSeconds: 3_600 },
    rotateKeysAfterMs: 86_400_000,
    failuresPerMinute: 100,
    isBehindProxy: false,
    onError: ({ message }) => failures.push(message),
    onAttempt: (attempt) => attempts.push(attempt),
    now: () => Date.now() + passedMs,
    ...more,
  });
  await server.listensAt(issuer);
  return { server, http, issuer };
};

const asIs = (answered: () => Promise<Response>): Promise<Response> => answered();
/** The answer of the token endpoint of the other server; a test may replace it. */
let answerOfToken = asIs;

/** The authorization server at an issuer as the upstream provider, of which the server under test is a client. */
const provider = (issuer: string): UpstreamProvider => {
  const scope = 'openid profile';
  const client = externalIssuer({ issuer, clientId: CLIENT, clientSecret: SECRET, scope, audience: '' }, Date.now);
  return {
    ...{ id: 'other', name: 'the other one', scope, subjectClaim: 'sub', groupsClaim: 'aud' },
    configuration: async () => {
      const configuration = await client.configuration('');
      configuration[customFetch] = (url, request) => {
        const answered = (): Promise<Response> => fetch(url, request as RequestInit);
        return url.endsWith('/token') ? answerOfToken(answered) : answered();
      };
      return configuration;
    },
  };
};

/** The server under test. */
let own: Serving;
/** The server at which people sign in to it. */
let other: Serving;
/** The clients of the other server: the server under test. */
const clientsOfOther = new Map<string, { secret_hash: string; redirect_uris: string[]; roles: string[] }>();

beforeAll(async () => {
  const bob = { password: await hashPassword(BOB.password, CHEAP), roles: ['administrator'] };
  await usersFile(join(directory, 'other.json')).change(() => new Map([['bob', bob]]));
  const carol = { password: await hashPassword(CAROL.password, CHEAP), roles: [] };
  await usersFile(join(directory, 'own.json')).change(() => new Map([['carol', carol]]));
  other = await serve('other', { clients: clientsOf(clientsFile(join(directory, 'none.json')), clientsOfOther) });
  const lifetimes = { accessSeconds: 600, refreshSeconds: 86_400 }; // longer than a sign-in at the provider counts
  own = await serve('own', { upstream: provider(other.issuer), lifetimes });
  const redirects = [`${own.issuer}${UPSTREAM_CALLBACK}`];
  clientsOfOther.set(CLIENT, { secret_hash: hashSecret(SECRET), redirect_uris: redirects, roles: [] });
});

afterAll(async () => {
  for (const { server, http } of [own, other]) {
    await server.close();
    http.close();
  }
  rmSync(directory, { recursive: true });
});

/** The path of the link to the upstream provider on a login page. */
const pathOfLink = ({ text }: Page): string => /href="([^"]+\/upstream)"/u.exec(text)?.[1] ?? '';

type Begun = { readonly browser: Browser; readonly verifier: string; readonly redirect: string; readonly link: string };

/** Opens the login page; `link` is the address that leads from there to the other server. */
const toLogin = async (): Promise<Begun> => {
  const { url, verifier, redirect } = begin(own.issuer);
  const browser = openBrowser();
  return { browser, verifier, redirect, link: `${own.issuer}${pathOfLink(await browser.open(url))}` };
};

/** Signs in at the other server, up to the address that it returns the browser to, which is not opened. */
const answerOfOther = async ({ browser, link }: Begun): Promise<string> => {
  const there = openBrowser();
  const login = await there.open((await browser.open(link)).url);
  const consent = await there.submit(login, '/login', BOB);
  return (await there.submit(consent, '/consent')).url;
};

/** Signs Bob in, by the other server. */
const signIn = async () => {
  const begun = await toLogin();
  const consent = await begun.browser.open(await answerOfOther(begun));
  const end = await begun.browser.submit(consent, '/consent');
  const code = { ...begun, code: new URL(end.url).searchParams.get('code') ?? '' };
  return { tokens: await redeem(own.issuer, code), browser: begun.browser };
};

/** The answer of the token endpoint, with an ID token of which the signature is changed. */
const withWrongSignature: typeof answerOfToken = async (answered) => {
  const tokens = (await (await answered()).json()) as { readonly id_token: string };
  const [header, claims, signature = ''] = tokens.id_token.split('.');
  return Response.json({ ...tokens, id_token: `${header}.${claims}.${signature.split('').toReversed().join('')}` });
};

afterEach(() => {
  answerOfToken = asIs;
});

describe('signing in at the upstream provider', () => {
  it('gives tokens of this server, with the id of the provider before the subject, and the groups of the person', async () => {
    const { tokens } = await signIn();
    expect(claimsOf(tokens.body['access_token'])).toMatchObject({
      iss: own.issuer,
      sub: 'other:bob',
      preferred_username: 'other:bob',
      roles: [],
      groups: [CLIENT],
    });
    expect(attempts.at(-2)).toMatchObject({ action: 'login', principal: 'other:bob', code: 'OK' });
  });

  it('is completed only in the browser that began it, and not with the state of a later sign-in', async () => {
    const begun = await toLogin();
    const answer = await answerOfOther(begun);
    expect((await openBrowser().open(answer)).status).toBe(400);
    expect((await begun.browser.open(answer)).text).toContain('Allow access?');
    const again = await toLogin();
    await answerOfOther(again);
    const mixed = new URL(answer);
    const laterState = new URL((await again.browser.open(again.link)).url).searchParams.get('state') ?? '';
    mixed.searchParams.set('state', laterState);
    expect((await again.browser.open(mixed.href)).text).toContain('has failed');
  });

  it('fails with the answer to another sign-in, and when the person refuses', async () => {
    const [first, second] = [await toLogin(), await toLogin()];
    const foreign = new URL(await answerOfOther(first));
    const interactionId = /interaction\/([\w-]+)\//u.exec(second.link)?.[1] ?? '';
    const page = `${own.issuer}/oauth2/interaction/${interactionId}/upstream`;
    expect((await second.browser.open(`${page}${foreign.search}`)).text).toContain('has failed');
    const { url } = await second.browser.open(second.link);
    const state = new URL(url).searchParams.get('state') ?? '';
    const refused = `${own.issuer}${UPSTREAM_CALLBACK}?error=access_denied&state=${state}`;
    expect((await second.browser.open(refused)).text).toContain('has failed');
    expect(attempts.at(-1)).toMatchObject({ action: 'login', principal: '', code: 'UNAUTHENTICATED' });
  });

  it.each<readonly [string, string, typeof answerOfToken]>([
    ['is not reached', 'UNAVAILABLE', () => Promise.reject(new TypeError('fetch failed'))],
    ['has failed itself', 'UNAVAILABLE', () => Promise.resolve(new Response('', { status: 503 }))],
    ['refuses the code', 'UNAUTHENTICATED', () => Promise.resolve(Response.json({ error: 'x' }, { status: 400 }))],
    ['sends an ID token without TLS and with a wrong signature', 'UNAUTHENTICATED', withWrongSignature],
  ])(
    'is recorded as failed with the reason, and the failure is shown, when the provider %s',
    async (_, code, answer) => {
      const begun = await toLogin();
      const returning = await answerOfOther(begun);
      answerOfToken = answer;
      const { text } = await begun.browser.open(returning);
      expect(text).toContain(code === 'UNAVAILABLE' ? 'the other one does not answer. Try again later.' : 'has failed');
      expect(attempts.at(-1)).toMatchObject({ action: 'login', principal: '', code });
    },
  );

  it('that is refused has the code of the provider in the log', async () => {
    const begun = await toLogin();
    const returning = await answerOfOther(begun);
    answerOfToken = () => Promise.resolve(Response.json({ error: 'invalid_client' }, { status: 401 }));
    await begun.browser.open(returning);
    expect(failures.at(-1)).toBe('the sign-in at the other one has failed (invalid_client)');
  });

  it('must be repeated after eight hours: tokens are not renewed, and the login page is shown', async () => {
    const { tokens, browser } = await signIn();
    const renewed = await refresh(own.issuer, tokens.body['refresh_token']);
    expect(claimsOf(renewed.body['access_token'])).toMatchObject({ sub: 'other:bob', groups: [CLIENT] });
    passedMs += EIGHT_HOURS_MS - MINUTE_MS;
    const last = await refresh(own.issuer, renewed.body['refresh_token']);
    expect(last.status).toBe(200);
    passedMs += MINUTE_MS;
    expect((await refresh(own.issuer, last.body['refresh_token'])).status).toBe(400);
    expect((await browser.open(begin(own.issuer).url)).text).toContain('Sign in with the other one');
  });

  it('ends with a sign-out at this server, which leads to the sign-out of the provider and back to the console', async () => {
    const { browser } = await signIn();
    const question = await browser.open(`${own.issuer}/oauth2/logout`);
    const page = await browser.submit(question, '/oauth2/logout/confirm', { logout: 'yes' });
    expect(page.text).toContain('Sign out at the other one');
    const there = new URL(/^0; url=(.*)$/u.exec(page.headers.get('refresh') ?? '')?.[1] ?? 'none:');
    expect(`${there.origin}${there.pathname}`).toBe(`${other.issuer}/oauth2/logout`);
    expect(Object.fromEntries(there.searchParams)).toEqual({
      client_id: CLIENT,
      post_logout_redirect_uri: `${own.issuer}${UPSTREAM_CALLBACK}`,
    });
    const back = await fetch(`${own.issuer}${UPSTREAM_CALLBACK}`, { redirect: 'manual' });
    expect([back.status, back.headers.get('location')]).toEqual([303, '/console']);
    expect((await browser.open(begin(own.issuer).url)).text).toContain('Sign in with the other one');
  });

  it('has no part in the sign-out of a user of this server, which leads to no other address', async () => {
    const browser = openBrowser();
    const consent = await browser.submit(await browser.open(begin(own.issuer).url), '/login', CAROL);
    await browser.submit(consent, '/consent');
    const question = await browser.open(`${own.issuer}/oauth2/logout`);
    const end = await browser.submit(question, '/oauth2/logout/confirm', { logout: 'yes' });
    expect(end.text).toContain('Signed out');
    expect(end.headers.get('refresh')).toBeNull();
  });

  it('shows a page with its failure while the provider does not answer', async () => {
    const gone = await serve('gone', { upstream: provider('http://127.0.0.1:1') }); // a port where nothing listens
    const browser = openBrowser();
    const login = await browser.open(begin(gone.issuer).url);
    const page = await browser.open(`${gone.issuer}${pathOfLink(login)}`);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('does not answer') as string });
    await gone.server.close();
    gone.http.close();
  });
});
