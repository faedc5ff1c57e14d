import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chromiumPath, startChromium } from '../support/chromium.js';
import { flightlog } from '../support/command.js';
import { register } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { type ServerProcess, startServerProcess } from '../support/server-process.js';
import { post } from '../support/sign-in.js';
import { overGrpc } from '../support/transports.js';

const data = mkdtempSync(join(tmpdir(), 'flightlog-signing-in-'));
const LIST = '/projects/flytesnacks/domains/development/executions';
const ALICE = { name: 'alice', password: 'password-of-alice' };
const VERA = { name: 'vera', password: 'password-of-vera' };

describe.skipIf(chromiumPath === undefined)('signing in to the web console', () => {
  let server: ServerProcess;
  let browser: Browser;
  const errors: string[] = [];

  const add = ({ name, password }: typeof ALICE, role: string) =>
    flightlog(['user', 'add', name, '--roles', role, '--data', data], { input: `${password}\n` }).ended;

  const registerHello = async (): Promise<void> => {
    const { stdout } = await flightlog(['client', 'add', 'ci', '--roles', 'contributor', '--data', data]).ended;
    const fields = { grant_type: 'client_credentials', scope: 'all' };
    const { body } = await post(`${server.ready.http}/oauth2/token`, fields, `ci:${stdout.trim()}`);
    const grpc = overGrpc(server.ready);
    const headers = { authorization: `Bearer ${body['access_token'] ?? ''}` };
    await register({ ...grpc, send: (rpc, request) => grpc.send(rpc, request, headers) }, withNeeds('01-hello'));
    grpc.close();
  };

  /** Opens a page of the console in a browser of its own, which the server leads to the sign-in. */
  const signIn = async ({ name, password }: typeof ALICE, path: string): Promise<Page> => {
    const page = await (await browser.newContext()).newPage();
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) errors.push(message.text());
    });
    await page.goto(`${server.ready.http}/console${path}`);
    await page.getByLabel('User name').fill(name);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`**/console${path}`);
    return page;
  };

  beforeAll(async () => {
    await add(ALICE, 'administrator');
    await add(VERA, 'viewer');
    const env = { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true', FLIGHTLOG_PROJECTS: '[flytesnacks]' };
    [server, browser] = await Promise.all([startServerProcess({ data, env }), startChromium()]);
    await registerHello();
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    rmSync(data, { recursive: true });
  });

  it('leads to the page that was asked for, names the person, and signs out', async () => {
    const page = await signIn(ALICE, LIST);
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    await page.getByText('Signed in as alice').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('User name').waitFor();
    expect(errors).toEqual([]);
  });

  it('changes what the person may change', async () => {
    const page = await signIn(ALICE, '/');
    await page.getByText('Signed in as alice').waitFor();
    const created = await page.evaluate(async () => {
      const answer = await fetch('/api/v1/projects', {
        method: 'POST',
        headers: { 'flightlog-csrf': 'test' },
        body: JSON.stringify({ project: { id: 'by-alice', name: 'by-alice' } }),
      });
      return answer.status;
    });
    expect(created).toBe(200);
  });

  it('reads to a viewer, and says why a change is refused', async () => {
    const page = await signIn(VERA, LIST.replace('executions', 'launch/launch_plans/hello.hello?version=v1'));
    await page.getByText('Signed in as vera').waitFor();
    await page.getByRole('button', { name: 'Launch' }).click();
    const note = page.getByRole('alert');
    await note.waitFor();
    expect(await note.innerText()).toMatch(/execute.*flytesnacks.*\s+Ask an operator for the permission/u);
  });

  it('shows the actions on a launch plan to people with the permission', async () => {
    const plan = LIST.replace('executions', 'launch_plans/hello.hello');
    const alices = await signIn(ALICE, plan);
    await alices.getByRole('link', { name: 'Launch …' }).waitFor();
    await alices.getByRole('button', { name: 'Activate' }).waitFor();
    const veras = await signIn(VERA, plan);
    const asked = veras.waitForResponse((answer) => answer.url().includes('/api/v1/access/permissions'));
    await veras.reload();
    await asked;
    await veras.getByRole('link', { name: 'Its executions' }).waitFor();
    expect(await veras.getByRole('link', { name: 'Launch …' }).count()).toBe(0);
    expect(await veras.getByRole('button', { name: 'Activate' }).count()).toBe(0);
    expect(errors).toEqual([]);
  });
});
