import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openBrowser } from '../../support/browser/browser.js';
import { flightlog, freePort, type Running, start } from '../../support/processes/command.js';
import { type ServerProcess, startServerProcess } from '../../support/processes/server-process.js';
import { FOLDER, python } from './interpreter.js';

const LIMIT_MS = 120_000;
const ALICE = { name: 'alice', password: 'password-of-alice' };

/** Without a browser, the SDK prints the address that it would open. */
const NO_BROWSER = { DISPLAY: '', WAYLAND_DISPLAY: '', TERM: '', BROWSER: '' };

/** An address of the authorization server, on a line that has ended. */
const ADDRESS = /(http\S+\/oauth2\/\S+)\s/u;

describe.skipIf(python === undefined)('the published Python SDK signs in', () => {
  const data = mkdtempSync(join(tmpdir(), 'flightlog-sdk-sign-in-'));
  let server: ServerProcess;
  let secret: string;

  beforeAll(async () => {
    await flightlog(['user', 'add', 'alice', '--roles', 'viewer', '--data', data], { input: `${ALICE.password}\n` })
      .ended;
    const added = await flightlog(['client', 'add', 'nightly', '--roles', 'viewer', '--data', data]).ended;
    secret = added.stdout.trim();
    server = await startServerProcess({
      data,
      env: {
        FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
        FLIGHTLOG_PROJECTS: '[flytesnacks]',
        FLIGHTLOG_AUTH_PUBLIC_CLIENT_REDIRECT_URI: `http://localhost:${await freePort()}/callback`,
      },
    });
  }, LIMIT_MS);

  afterAll(async () => {
    await server.stop();
    rmSync(data, { recursive: true });
  });

  const run = (...args: readonly string[]): Running =>
    start(python!, [join(FOLDER, 'sign_in.py'), server.ready.grpc, ...args], {
      cwd: data,
      env: { PYTHONDONTWRITEBYTECODE: '1', ...NO_BROWSER },
    });

  /** The address that the program asks its user to open. */
  const printedBy = async (program: Running): Promise<string> => {
    await program.said(ADDRESS);
    return ADDRESS.exec(program.stdout())?.[1] ?? '';
  };

  /** The JSON object in the last line of the program, with the subject and the projects that the user can list. */
  const answerOf = async ({ ended }: Running): Promise<unknown> => {
    const { code, stdout, stderr } = await ended;
    if (code !== 0) throw new Error(`the program ended with ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  };

  it.concurrent(
    'with client credentials',
    async () => {
      const answer = await answerOf(run('client', 'nightly', secret));
      expect(answer).toEqual({ subject: 'nightly', projects: ['flytesnacks'] });
    },
    LIMIT_MS,
  );

  it.concurrent(
    'with PKCE, is led back to its own port, and renews a refused access token without another sign-in',
    async () => {
      const program = run('pkce');
      const browser = openBrowser();
      const login = await browser.open(await printedBy(program));
      const consent = await browser.submit(login, '/login', ALICE);
      const { url } = await browser.submit(consent, '/consent');
      expect((await fetch(url)).status).toBe(200);
      const answer = await answerOf(program);
      expect(answer).toEqual({ subject: 'alice', projects: ['flytesnacks'], refreshed: 'alice', rotated: true });
    },
    LIMIT_MS,
  );

  it.concurrent(
    'with the device flow, whose address the program prints',
    async () => {
      const program = run('device');
      const browser = openBrowser();
      const form = await browser.open(await printedBy(program));
      const confirm = await browser.submit(form, '/oauth2/device');
      const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
      const consent = await browser.submit(login, '/login', ALICE);
      await browser.submit(consent, '/consent');
      expect(await answerOf(program)).toEqual({ subject: 'alice', projects: ['flytesnacks'] });
    },
    LIMIT_MS,
  );
});
