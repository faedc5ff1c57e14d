import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openBrowser, type Page } from '../support/browser/browser.js';
import { flightlog } from '../support/processes/command.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';

const data = mkdtempSync(join(tmpdir(), 'flightlog-sessions-'));
const [ALICE, VERA] = [
  { name: 'alice', password: 'password-of-alice' },
  { name: 'vera', password: 'password-of-vera' },
];
/** The headers of a request by a page of this server, such as the console or flyteconsole. */
const OUR_PAGE = { 'sec-fetch-site': 'same-origin' };

let server: ServerProcess;
let http: string;

type Answer = {
  readonly status: number;
  readonly cookies: readonly string[];
  readonly location: string | null;
  readonly text: string;
};

/** Asks without following redirects. */
const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
  const answer = await fetch(`${http}${path}`, { ...init, redirect: 'manual' });
  const cookies = answer.headers.getSetCookie();
  return { status: answer.status, cookies, location: answer.headers.get('location'), text: await answer.text() };
};

/** The cookies as a browser sends them back. */
const cookieHeader = (cookies: readonly string[]): string =>
  cookies.flatMap((each) => (each.includes('Max-Age=0') ? [] : [each.split(';', 1)[0]])).join('; ');

/**
 * Signs in at the issuer. The address to which it sends the browser back is not opened; it is returned, with the cookie
 * of this sign-in.
 */
const signInUpTo = async ({ name, password }: typeof ALICE): Promise<{ callback: string; cookie: string }> => {
  const begun = await ask('/login?redirect_url=/console/events');
  const issuer = openBrowser({ stopAt: '/callback' });
  const login = await issuer.open(begun.location ?? '');
  const end = await issuer.submit(login, '/login', { name, password });
  return { callback: end.url.slice(http.length), cookie: cookieHeader(begun.cookies) };
};

const signIn = async (person: typeof ALICE): Promise<string> => {
  const { callback, cookie } = await signInUpTo(person);
  const back = await ask(callback, { headers: { cookie } });
  expect(back).toMatchObject({ status: 302, location: '/console/events' });
  return cookieHeader(back.cookies);
};

const project = (id: string): RequestInit => ({ method: 'POST', body: JSON.stringify({ project: { id, name: id } }) });

const projects = async (cookie: string): Promise<string> =>
  (await ask('/api/v1/projects', { headers: { cookie } })).text;

beforeAll(async () => {
  for (const [{ name, password }, role] of [
    [ALICE, 'administrator'],
    [VERA, 'viewer'],
  ] as const)
    await flightlog(['user', 'add', name, '--roles', role, '--data', data], { input: `${password}\n` }).ended;
  server = await startServerProcess({
    data,
    env: { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true', FLIGHTLOG_PROJECTS: '[flytesnacks]' },
  });
  ({ http } = server.ready);
}, 60_000);
afterAll(async () => {
  await server.stop();
  rmSync(data, { recursive: true });
});

describe('browser sessions', () => {
  it('sign a person in without a question of consent, and lead to the page that was asked for', async () => {
    const cookie = await signIn(ALICE);
    const { status, text } = await ask('/api/v1/me', { headers: { cookie } });
    expect([status, (JSON.parse(text) as { subject: string }).subject]).toEqual([200, 'alice']);
    expect((await ask('/api/v1/projects')).status).toBe(401);
  });

  it('are in cookies that scripts cannot read and requests of other sites do not have', async () => {
    const { callback, cookie } = await signInUpTo(ALICE);
    const { cookies } = await ask(callback, { headers: { cookie } });
    const session = cookies.find((each) => each.startsWith('flightlog_session='));
    expect(session).toMatch(/^flightlog_session=[\w.-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/u);
    expect(session?.split('.')).toHaveLength(5); // a JWE, which is encrypted, has five parts
    expect(cookies.find((each) => each.startsWith('flightlog_sign_in_'))).toContain('Max-Age=0');
  });

  it('allow changes only to pages of this server, and refused changes are in the audit', async () => {
    const cookie = await signIn(ALICE);
    const attempts: Record<string, string>[] = [
      {},
      { 'content-type': 'text/plain', origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'none' },
      { 'flightlog-csrf': '1', 'sec-fetch-site': 'same-site' },
      { 'flightlog-csrf': '1', 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of attempts)
      expect((await ask('/api/v1/projects', { ...project('forged'), headers: { cookie, ...headers } })).status).toBe(
        403,
      );
    expect(await projects(cookie)).not.toContain('forged');
    const { text: audit } = await ask('/api/v1/audit?actor=alice', { headers: { cookie } });
    const refused = (
      JSON.parse(audit) as { entries: { action: string; address: string; code?: string; count: string }[] }
    ).entries.filter(({ code }) => code === 'PERMISSION_DENIED');
    // Equal refusals share an entry until it is stored; slow attempts have more than one entry.
    expect(new Set(refused.map(({ action, address }) => `${action} from ${address}`))).toEqual(
      new Set(['/api/v1/projects from 127.0.0.1']),
    );
    expect(refused.reduce((sum, { count }) => sum + Number(count), 0)).toBe(attempts.length);
    // `plain` has the headers of a browser that does not say where a request comes from.
    for (const [name, headers] of Object.entries({ mine: OUR_PAGE, plain: { 'flightlog-csrf': 'test' } })) {
      const allowed = await ask('/api/v1/projects', { ...project(name), headers: { cookie, ...headers } });
      expect(allowed.status).toBe(200);
    }
  });

  it('give no more than the roles of the person', async () => {
    const cookie = await signIn(VERA);
    expect(await projects(cookie)).toContain('flytesnacks');
    const refused = await ask('/api/v1/projects', { ...project('hers'), headers: { cookie, ...OUR_PAGE } });
    expect(refused.status).toBe(403);
    expect(await projects(cookie)).not.toContain('hers');
  });

  it('refuse an answer of the issuer the second time, for another sign-in, and without its cookie', async () => {
    const [first, second] = [await signInUpTo(ALICE), await signInUpTo(VERA)];
    const mixed = second.callback.replace(/state=[^&]*/u, /state=[^&]*/u.exec(first.callback)?.[0] ?? '');
    for (const [callback, cookie] of [
      [first.callback, ''],
      [first.callback, second.cookie],
      [mixed, second.cookie],
      [first.callback, first.cookie.replace(/=.*/u, '=eyJhbGciOiJkaXIifQ....')], // a JWE with a head and no content
    ] as const)
      expect(await ask(callback, { headers: { cookie } })).toMatchObject({ status: 401, location: null });
    expect((await ask(mixed, { headers: { cookie: first.cookie } })).status).toBe(403); // the verifier does not match
    expect((await ask(first.callback, { headers: { cookie: first.cookie } })).status).toBe(302);
    expect((await ask(first.callback, { headers: { cookie: first.cookie } })).status).toBe(403);
  });

  it('take no cookie that was made for something else, or changed', async () => {
    const { cookie: signingIn } = await signInUpTo(ALICE);
    const session = await signIn(ALICE);
    const changed = `${session.slice(0, -8)}AAAAAAAA`;
    for (const cookie of [`flightlog_session=${signingIn.split('=')[1] ?? ''}`, changed, 'flightlog_session=x'])
      expect((await ask('/api/v1/projects', { headers: { cookie } })).status).toBe(401);
  });

  it('redirect to addresses of this server alone, after sign-in and sign-out', async () => {
    const elsewhere = ['https://evil.example/', '//evil.example', '/\\evil.example', '\\/evil.example', 'console'];
    elsewhere.push('/.//evil.example', '/console/..//evil.example');
    for (const to of elsewhere)
      for (const from of ['/login', '/logout'])
        expect(await ask(`${from}?redirect_url=${encodeURIComponent(to)}`)).toMatchObject({
          status: 403,
          location: null,
        });
    expect((await ask('/login', { method: 'POST' })).status).toBe(405);
  });

  it('redirect to /console by default, and to an address of this server that is given with its origin, as flyteconsole does', async () => {
    for (const [redirectUrl, page] of [
      ['', '/console'],
      [`${http}/console/projects?domain=development`, '/console/projects?domain=development'],
    ] as const) {
      const browser = openBrowser({ stopAt: '/console' });
      const login = await browser.open(`${http}/login?redirect_url=${redirectUrl}`);
      expect((await browser.submit(login, '/login', ALICE)).url).toBe(`${http}${page}`);
    }
  });

  it('end at sign-out, at the issuer too, and not at the request of another site', async () => {
    const browser = openBrowser();
    const login: Page = await browser.open(`${http}/login`);
    await browser.submit(login, '/login', ALICE);
    expect((await browser.open(`${http}/api/v1/me`)).status).toBe(200);
    const question = await browser.open(`${http}/logout`);
    expect((await browser.open(`${http}/api/v1/me`)).status).toBe(401);
    const signedOut = await browser.submit(question, '/oauth2/logout/confirm', { logout: 'yes' });
    expect(signedOut.url).toBe(`${http}/console`);
    expect((await browser.open(`${http}/login`)).text).toContain('<input id="password"');
    const forged = await ask('/logout', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([forged.status, forged.cookies]).toEqual([403, []]);
  });
});
