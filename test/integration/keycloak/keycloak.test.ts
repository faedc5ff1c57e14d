import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chromiumPath, startChromium } from '../../support/browser/chromium.js';
import { type ServerProcess, startServerProcess } from '../../support/processes/server-process.js';
import { overGrpc } from '../../support/clients/transports.js';
import { until } from '../../support/until.js';
import { isRequired, type Keycloak, keycloakFolder, startKeycloak } from './keycloak.js';

const LIMIT_MS = 240_000;
const ALICE = { name: 'alice', password: 'password-of-alice' };
const VERA = { name: 'vera', password: 'password-of-vera' };

/** The roles of the groups that Keycloak names in its tokens; Alice is an administrator, Vera a viewer. */
const GRANTS = [
  { claim: 'groups', value: 'ml-admins', role: 'administrator' },
  { claim: 'groups', value: 'ml-readers', role: 'viewer' },
  { claim: 'groups', value: 'ml-engines', role: 'engine' },
];

it.skipIf(!isRequired)('Keycloak is prepared, when it is required', () => {
  expect(keycloakFolder, 'run test/integration/keycloak/environment').toBeDefined();
});

describe.skipIf(keycloakFolder === undefined)(
  'a server with Keycloak as issuer',
  () => {
    let keycloak: Keycloak;
    let server: ServerProcess;
    let browser: Browser | undefined;
    const folders: string[] = [];

    const serve = (): Promise<ServerProcess> => {
      const data = mkdtempSync(join(tmpdir(), 'flightlog-with-keycloak-'));
      folders.push(data);
      return startServerProcess({
        data,
        env: {
          FLIGHTLOG_AUTH_ISSUERS: JSON.stringify([{ issuer: keycloak.issuer, audience: ['flightlog'] }]),
          FLIGHTLOG_AUTH_GRANTS: JSON.stringify(GRANTS),
          FLIGHTLOG_AUTH_BROWSER_CLIENT_ID: 'console',
          FLIGHTLOG_AUTH_BROWSER_CLIENT_SECRET: 'secret-of-the-console',
          FLIGHTLOG_PROJECTS: '[flytesnacks]',
        },
      });
    };

    beforeAll(async () => {
      keycloak = await startKeycloak(keycloakFolder!);
      [server, browser] = await Promise.all([serve(), chromiumPath === undefined ? undefined : startChromium()]);
    }, LIMIT_MS);

    afterAll(async () => {
      await browser?.close();
      await server.stop();
      await keycloak.close();
      for (const data of folders) rmSync(data, { recursive: true });
    });

    /** The HTTP status of a list of executions with a token. */
    const statusOf = async (token: string, { ready } = server): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${ready.http}/api/v1/executions/flytesnacks/development`, { headers })).status;
    };

    const engineToken = (): Promise<string> => keycloak.tokenOf('engine', 'secret-of-the-engine');

    it('accepts tokens for its audience alone over gRPC and REST, with the roles of the groups in them', async () => {
      // The stranger has no role here; the token of `elsewhere` is for another audience.
      const tokens = await Promise.all([
        engineToken(),
        keycloak.tokenOf('stranger', 'secret-of-the-stranger'),
        keycloak.tokenOf('elsewhere', 'secret-of-elsewhere'),
      ]);
      expect(await Promise.all(tokens.map((token) => statusOf(token)))).toEqual([200, 403, 401]);
      const grpc = overGrpc(server.ready);
      const codes = tokens.map(async (token) => {
        const headers = { authorization: `Bearer ${token}` };
        return (await grpc.send('GetDomains', new Uint8Array(), headers)).code;
      });
      expect(await Promise.all(codes)).toEqual(['OK', 'OK', 'UNAUTHENTICATED']);
      grpc.close();
    });

    it('accepts tokens that are signed with a new key while it serves, and those signed with the old key', async () => {
      const before = await engineToken();
      await keycloak.rotateKeys();
      const after = await engineToken();
      const keyOf = (token: string): string => Buffer.from(token.split('.')[0] ?? '', 'base64url').toString();
      expect(keyOf(after)).not.toBe(keyOf(before));
      // The server asks Keycloak for unknown keys at most once in ten seconds.
      await until(
        () => statusOf(after),
        (status) => status === 200,
      );
      expect(await statusOf(before)).toBe(200);
    });

    /** Opens the console in a browser context of its own, and signs the person in at Keycloak. */
    const signIn = async ({ name, password }: typeof ALICE): Promise<Page> => {
      const page = await (await browser!.newContext()).newPage();
      await page.goto(`${server.ready.http}/console/`);
      await page.locator('#username').fill(name);
      await page.locator('#password').fill(password);
      await page.locator('#kc-login').click();
      await page.getByText(`Signed in as ${name}`).waitFor();
      return page;
    };

    /** Creates a project with the session of a page, and returns the HTTP status. */
    const createProject = (page: Page, id: string): Promise<number> =>
      page.evaluate(async (name) => {
        const answer = await fetch('/api/v1/projects', {
          method: 'POST',
          headers: { 'flightlog-csrf': 'test' },
          body: JSON.stringify({ project: { id: name, name } }),
        });
        return answer.status;
      }, id);

    it.skipIf(chromiumPath === undefined)('signs people in to the console, with the roles of groups', async () => {
      const [alice, vera] = [await signIn(ALICE), await signIn(VERA)];
      expect(await createProject(alice, 'by-alice')).toBe(200);
      expect(await createProject(vera, 'by-vera')).toBe(403);
    });

    it.skipIf(chromiumPath === undefined)('signs people out, at Keycloak too', async () => {
      const page = await signIn(ALICE);
      await page.getByRole('link', { name: 'Sign out' }).click();
      await page.locator('#kc-logout').click();
      await page.locator('#username').waitFor();
      expect(new URL(page.url()).origin).toBe(new URL(keycloak.issuer).origin);
    });

    it.skipIf(chromiumPath === undefined)(
      'signs people in at Keycloak through the authorization server of flightlog, with their groups',
      async () => {
        const data = mkdtempSync(join(tmpdir(), 'flightlog-with-keycloak-'));
        folders.push(data);
        const own = await startServerProcess({
          data,
          env: {
            FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
            FLIGHTLOG_AUTH_SERVER_UPSTREAM_ISSUER: keycloak.issuer,
            FLIGHTLOG_AUTH_SERVER_UPSTREAM_CLIENT_ID: 'console',
            FLIGHTLOG_AUTH_SERVER_UPSTREAM_CLIENT_SECRET: 'secret-of-the-console',
            FLIGHTLOG_AUTH_SERVER_UPSTREAM_NAME: 'Keycloak',
            FLIGHTLOG_AUTH_GRANTS: JSON.stringify(GRANTS),
          },
        });
        for (const [{ name, password }, status] of [
          [ALICE, 200],
          [VERA, 403],
        ] as const) {
          const page = await (await browser!.newContext()).newPage();
          await page.goto(`${own.ready.http}/console/`);
          await page.getByRole('link', { name: 'Sign in with Keycloak' }).click();
          await page.locator('#username').fill(name);
          await page.locator('#password').fill(password);
          await page.locator('#kc-login').click();
          await page.getByText('Signed in as').waitFor();
          const me = await page.evaluate(async () => (await fetch('/api/v1/me')).text());
          expect(me).toContain(`"upstream:${name}"`);
          expect(await createProject(page, `by-${name}`)).toBe(status);
          // Signed out at Keycloak too, which asks for the password again.
          await page.getByRole('link', { name: 'Sign out' }).click();
          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.locator('#kc-logout').click();
          await page.getByRole('link', { name: 'Sign in with Keycloak' }).click();
          await page.locator('#username').waitFor();
          await page.context().close();
        }
        await own.stop();
      },
    );

    it('accepts tokens while Keycloak is stopped; a server started meanwhile accepts them once Keycloak runs again', async () => {
      const [known, unused] = [await engineToken(), await engineToken()];
      expect(await statusOf(known)).toBe(200);
      const page = browser && (await signIn(VERA));
      await keycloak.stop();
      const fresh = await serve();
      expect([await statusOf(known), await statusOf(unused), await statusOf(unused, fresh)]).toEqual([200, 200, 503]);
      if (page) {
        await page.reload();
        await page.getByText('Signed in as vera').waitFor();
      }
      const login = await fetch(`${fresh.ready.http}/login`, { redirect: 'manual' });
      expect([login.status, await login.text()]).toEqual([503, expect.stringContaining('Try again later')]);
      await keycloak.start();
      await until(
        () => statusOf(unused, fresh),
        (status) => status === 200,
      );
      expect((await fetch(`${fresh.ready.http}/login`, { redirect: 'manual' })).status).toBe(302);
      await fresh.stop();
    });
  },
  LIMIT_MS,
);
