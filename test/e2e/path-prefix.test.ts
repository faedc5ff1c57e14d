import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openBrowser, type Browser, type Page } from '../support/browser/browser.js';
import { flightlog } from '../support/processes/command.js';
import { type PrefixProxy, startPrefixProxy } from '../support/proxies/prefix-proxy.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { claimsOf, getCode, post, redeem } from '../support/browser/sign-in.js';

const ALICE = { name: 'alice', password: 'password-of-alice' };
const PREFIX = '/tools/flightlog';

const data = mkdtempSync(join(tmpdir(), 'flightlog-prefix-'));
let proxy: PrefixProxy;
let server: ServerProcess;
let baseUrl: string;

beforeAll(async () => {
  const args = ['user', 'add', ALICE.name, '--roles', 'administrator', '--data', data];
  await flightlog(args, { input: `${ALICE.password}\n` }).ended;
  proxy = await startPrefixProxy(PREFIX);
  ({ baseUrl } = proxy);
  server = await startServerProcess({
    data,
    env: { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true', FLIGHTLOG_AUTH_SERVER_ISSUER: baseUrl },
  });
  proxy.forwardTo(server.ready.http);
}, 60_000);
afterAll(async () => {
  await server.stop();
  proxy.close();
  rmSync(data, { recursive: true });
});

/** Signs in at the address that a page of the console leads to. */
const signIn = async (browser: Browser, query = ''): Promise<Page> => {
  const login = await browser.open(`${baseUrl}/login${query}`);
  return browser.submit(login, '/login', ALICE);
};

describe('a server below the path prefix of a proxy', () => {
  /** The number of answers that the proxy had passed on before the test. */
  let before: number;
  beforeEach(() => {
    before = proxy.answers.length;
  });

  /** The values of a header in the answers of this test. */
  const headersSent = (header: 'location' | 'set-cookie'): readonly string[] =>
    proxy.answers.slice(before).flatMap((headers) => headers[header] ?? []);

  it('signs people in for the console, by pages and cookies below its prefix', async () => {
    const browser = openBrowser();
    const page = await signIn(browser, `?redirect_url=${PREFIX}/console/events`);
    expect([page.url, page.status]).toEqual([`${baseUrl}/console/events`, 200]);
    expect(JSON.parse((await browser.open(`${baseUrl}/api/v1/me`)).text)).toMatchObject({ subject: 'alice' });
    const paths = headersSent('set-cookie').map((cookie) => /; path=([^;]*)/iu.exec(cookie)?.[1] ?? '/');
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => path !== PREFIX && !path.startsWith(`${PREFIX}/`))).toEqual([]);
    const leadsTo = headersSent('location').map((location) => new URL(location, baseUrl).href);
    expect(leadsTo.filter((location) => !location.startsWith(`${baseUrl}/`))).toEqual([]);
  });

  it('leads to no other program of its host after a sign-in', async () => {
    expect((await signIn(openBrowser())).url).toBe(`${baseUrl}/console`);
    for (const other of ['/console', `${PREFIX}-other`, `${PREFIX}/../other`]) {
      const { status } = await openBrowser().open(`${baseUrl}/login?redirect_url=${encodeURIComponent(other)}`);
      expect([other, status]).toEqual([other, 403]);
    }
  });

  it('signs people out, and leads back to the console', async () => {
    const browser = openBrowser();
    await signIn(browser);
    const question = await browser.open(`${baseUrl}/logout`);
    const left = await browser.submit(question, '/oauth2/logout/confirm', { logout: 'yes' });
    expect(left.url).toBe(`${baseUrl}/console`);
    expect((await browser.open(`${baseUrl}/api/v1/me`)).status).toBe(401);
    expect((await browser.open(`${baseUrl}/login`)).text).toContain('name="password"');
  });

  it('gives command lines tokens of its issuer, which it accepts', async () => {
    const { body } = await redeem(baseUrl, await getCode(baseUrl, ALICE));
    expect(claimsOf(body['access_token'])).toMatchObject({ iss: baseUrl, aud: baseUrl, sub: 'alice' });
    const headers = { authorization: `Bearer ${body['access_token'] ?? ''}` };
    expect((await fetch(`${baseUrl}/api/v1/me`, { headers })).status).toBe(200);
  });

  it('connects devices by a page below its prefix', async () => {
    const { body } = await post(`${baseUrl}/oauth2/device/authorize`, { client_id: 'flytectl', scope: 'all' });
    expect(body['verification_uri']).toBe(`${baseUrl}/oauth2/device`);
    const browser = openBrowser();
    const form = await browser.open(body['verification_uri_complete'] ?? '');
    const confirm = await browser.submit(form, '/oauth2/device');
    const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
    const consent = await browser.submit(login, '/login', ALICE);
    expect((await browser.submit(consent, '/consent')).text).toContain('connected');
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'flytectl' };
    const { status } = await post(`${baseUrl}/oauth2/token`, { ...grant, device_code: body['device_code'] ?? '' });
    expect(status).toBe(200);
  });

  it.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])(
    'has its prefix in every address of %s',
    async (path) => {
      const document = (await (await fetch(`${baseUrl}${path}`)).json()) as Readonly<Record<string, unknown>>;
      const addresses = Object.values(document).filter((value) => typeof value === 'string' && value.includes('://'));
      expect(document['issuer']).toBe(baseUrl);
      expect(addresses.length).toBeGreaterThan(4);
      expect(addresses.filter((address) => address !== baseUrl && !String(address).startsWith(`${baseUrl}/`))).toEqual(
        [],
      );
    },
  );

  it.each(['/openapi.json', '/api/v1/openapi'])('is the server that the OpenAPI document at %s names', async (path) => {
    const browser = openBrowser();
    await signIn(browser);
    const document = JSON.parse((await browser.open(`${baseUrl}${path}`)).text) as {
      readonly servers: readonly [{ readonly url: string }];
    };
    expect(new URL(document.servers[0].url, `${baseUrl}${path}`).href).toBe(`${baseUrl}/`);
  });
});
