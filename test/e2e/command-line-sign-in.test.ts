import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openBrowser } from '../support/browser/browser.js';
import { type Ended, flightlog, freePort, type Running } from '../support/processes/command.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { refresh } from '../support/browser/sign-in.js';
import { until } from '../support/until.js';

const ALICE = { name: 'alice', password: 'password-of-alice' };
const data = mkdtempSync(join(tmpdir(), 'flightlog-command-line-sign-in-'));
const env = { XDG_STATE_HOME: join(data, 'state') };
const tokens = join(env.XDG_STATE_HOME, 'flightlog/tokens.json');

let server: ServerProcess;
let secret: string;

const run = (args: readonly string[], input = ''): Promise<Ended> =>
  flightlog([...args, '--data', data], { input }).ended;

beforeAll(async () => {
  await run(['user', 'add', ALICE.name, '--roles', 'viewer'], `${ALICE.password}\n`);
  secret = (await run(['client', 'add', 'reports', '--roles', 'viewer'])).stdout.trim();
  server = await startServerProcess({
    data,
    env: {
      FLIGHTLOG_PROJECTS: '[flytesnacks]',
      FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
      FLIGHTLOG_AUTH_PUBLIC_CLIENT_REDIRECT_URI: `http://localhost:${await freePort()}/callback`,
    },
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(data, { recursive: true });
});

/** Writes a configuration file of flytectl with the server's address and these lines, and gives its path. */
const profile = (name: string, ...lines: readonly string[]): string => {
  const file = join(data, `${name}.yaml`);
  const all = [`endpoint: dns:///${server.ready.grpc}`, 'insecure: true', ...lines];
  writeFileSync(file, `admin:\n${all.map((line) => `  ${line}\n`).join('')}`);
  return file;
};

const listProjects = (file: string): Running =>
  flightlog(['list', 'projects', '-o', 'name', '--profile', file], { env });

/** Waits until a command asks a person to sign in, and gives the groups that `what` captures in its request. */
const untilAsked = async ({ stderr }: Running, what: RegExp): Promise<readonly string[]> =>
  until(
    () => Promise.resolve(what.exec(stderr())?.slice(1) ?? []),
    (found) => found.length > 0,
  );

/**
 * Signs in with a browser, as a command asks. Gives the address that leads back to the command, which is not opened.
 */
const returnOfBrowser = async (command: Running): Promise<string> => {
  const [address = ''] = await untilAsked(command, /^Sign in at (\S+)\n/u);
  const browser = openBrowser();
  const login = await browser.open(address);
  const consent = await browser.submit(login, '/login', ALICE);
  return (await browser.submit(consent, '/consent')).url;
};

type Saved = { readonly accessToken: string; readonly expiresAt: number; readonly refreshToken: string };

/** The tokens that the command line has kept, by server. */
const allSaved = (): Record<string, Saved> => JSON.parse(readFileSync(tokens, 'utf8')) as Record<string, Saved>;

/** The tokens that the command line has kept for its only server. */
const saved = (): Saved => Object.values(allSaved())[0]!;

const save = (changed: Saved): void =>
  writeFileSync(tokens, JSON.stringify({ [`grpc://${server.ready.grpc}`]: changed }));

/** The result of a command that has listed the projects. */
const LISTED = { code: 0, stdout: 'flytesnacks\n', stderr: '' };

describe('a person at the command line', () => {
  it('signs in with a browser, once for many commands', async () => {
    const file = profile('browser', 'authType: Pkce');
    const command = listProjects(file);
    const url = await returnOfBrowser(command);
    const returnsTo = new URL(url);
    // Browsers open connections ahead and send nothing on them.
    connect(Number(returnsTo.port), returnsTo.hostname).on('error', () => undefined);
    for (const forged of ['/other', '/callback?code=theirs&state=theirs'])
      expect((await fetch(new URL(forged, url))).status).toBe(404);
    expect(await (await fetch(url)).text()).toMatch(/can be closed/u);
    expect(await command.ended).toMatchObject({ code: 0, stdout: 'flytesnacks\n' });
    expect(statSync(tokens).mode & 0o777).toBe(0o600);
    expect(await listProjects(file).ended).toEqual(LISTED);
  });

  it('does not sign in again when the token has expired or is refused: it is refreshed', async () => {
    const file = profile('browser', 'authType: Pkce');
    const before = saved();
    for (const spoilt of [{ accessToken: 'none' }, { expiresAt: 0 }]) {
      save({ ...saved(), ...spoilt });
      const commands = [listProjects(file), listProjects(file), listProjects(file)]; // a refresh token can be used once
      for (const { ended } of commands) expect(await ended).toEqual(LISTED);
    }
    expect(saved().refreshToken).not.toBe(before.refreshToken);
  });

  it('signs in with a code on another machine', async () => {
    rmSync(tokens);
    const command = listProjects(profile('device', 'authType: DeviceFlow'));
    const [address = '', code = ''] = await untilAsked(command, /^Sign in at (\S+) with the code (\S+)\n/u);
    const browser = openBrowser();
    const form = await browser.open(address);
    const confirm = await browser.submit(form, '/oauth2/device', { user_code: code });
    const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
    const consent = await browser.submit(login, '/login', ALICE);
    await browser.submit(consent, '/consent');
    expect(await command.ended).toMatchObject({ code: 0, stdout: 'flytesnacks\n' });
  });

  it('gets the reason when the sign-in is refused', async () => {
    rmSync(tokens);
    const command = listProjects(profile('browser', 'authType: Pkce'));
    const [address = ''] = await untilAsked(command, /^Sign in at (\S+)\n/u);
    const { searchParams } = new URL(address);
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('error', 'access_denied');
    back.searchParams.set('state', searchParams.get('state') ?? '');
    back.searchParams.set('iss', server.ready.http);
    await fetch(back);
    const { code, stderr } = await command.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/gives no token: access_denied; run the command again to sign in\n$/u);
  });
});

describe('sign-in', () => {
  it('holds for the commands that follow, over REST, until sign-out', async () => {
    const onServer = (...args: readonly string[]): Running =>
      flightlog(args, { env: { ...env, FLIGHTLOG_SERVER: server.ready.http } });
    const command = onServer('sign-in');
    await fetch(await returnOfBrowser(command));
    expect(await command.ended).toMatchObject({ code: 0, stdout: `signed in at ${server.ready.http} as alice\n` });
    expect(await onServer('list', 'projects', '-o', 'name').ended).toEqual(LISTED);
    const { refreshToken } = allSaved()[server.ready.http]!;
    const { stdout } = await onServer('sign-out').ended;
    expect(stdout).toBe(`signed out at ${server.ready.http}\nrevoked the refresh token at ${server.ready.http}\n`);
    expect(await refresh(server.ready.http, refreshToken)).toMatchObject({ status: 400 });
    const { code, stderr } = await onServer('list', 'projects').ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^flightlog: UNAUTHENTICATED: .*; flightlog sign-in is for people; /u);
  });

  it('ends on this machine although the server cannot be reached, with a warning', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const kept = { accessToken: 'kept', expiresAt: 0, refreshToken: 'kept' };
    writeFileSync(tokens, JSON.stringify({ [away]: kept }));
    const { code, stdout, stderr } = await flightlog(['sign-out', '--server', away], { env }).ended;
    expect([code, stdout]).toEqual([0, `signed out at ${away}\n`]);
    expect(stderr).toMatch(/^flightlog: the refresh token is not revoked: [^\n]*127\.0\.0\.1[^\n]*\n$/u);
    expect(allSaved()).toEqual({});
  });

  it('ends on this machine although the server has no authentication any more, with a warning', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-without-authentication-'));
    const withoutAuthentication = await startServerProcess({ data: directory });
    const { http } = withoutAuthentication.ready;
    writeFileSync(tokens, JSON.stringify({ [http]: { accessToken: 'kept', expiresAt: 0, refreshToken: 'kept' } }));
    const { code, stdout, stderr } = await flightlog(['sign-out', '--server', http], { env }).ended;
    await withoutAuthentication.stop();
    rmSync(directory, { recursive: true });
    expect([code, stdout]).toEqual([0, `signed out at ${http}\n`]);
    expect(stderr).toBe(
      'flightlog: the refresh token is not revoked: the server names no issuer: it has no authentication by tokens\n',
    );
  });

  it('is not for profiles of programs', async () => {
    const { code, stderr } = await flightlog(['sign-in', '--profile', profile('program')], { env }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^flightlog: the profile has credentials of a client .* set admin\.authType: Pkce/u);
  });
});

/** A proxy that lets nothing through without the token `secret`; it names the addresses that it was asked for. */
const startProxy = async () => {
  const asked: string[] = [];
  const proxy = createServer().on('connect', ({ url = '', headers }, socket) => {
    asked.push(url);
    if (headers['proxy-authorization'] !== 'Bearer secret') return void socket.end('HTTP/1.1 407 Denied\r\n\r\n');
    const { hostname, port } = new URL(`http://${url}`);
    const issuer = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    issuer.pipe(socket).pipe(issuer);
    for (const end of [issuer, socket]) end.on('error', () => undefined);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked, close: () => proxy.close() };
};

describe('a program at the command line', () => {
  it('asks the issuer through a proxy, with the token for the proxy that a command prints', async () => {
    const proxy = await startProxy();
    const client = ['clientId: reports', 'clientSecretEnvVar: SECRET', `httpProxyURL: ${proxy.url}`];
    const list = (...lines: readonly string[]) =>
      flightlog(['list', 'projects', '-o', 'name', '--profile', profile('proxied', ...client, ...lines)], {
        env: { ...env, SECRET: secret },
      }).ended;
    expect(await list('proxyCommand: [echo, secret]')).toEqual(LISTED);
    expect(proxy.asked).toEqual([new URL(server.ready.http).host]);
    expect((await list()).stderr).toBe(
      `flightlog: the proxy ${new URL(proxy.url).host} answers 407: check admin.proxyCommand, which prints its token\n`,
    );
    proxy.close();
  });

  it('signs in with the secret of its client', async () => {
    const file = join(data, 'secret');
    writeFileSync(file, `${secret}\n`);
    const lines = ['authType: ClientSecret', 'clientId: reports', `clientSecretLocation: ${file}`];
    expect(await listProjects(profile('program', ...lines)).ended).toEqual(LISTED);
    writeFileSync(file, 'wrong');
    const { code, stderr } = await listProjects(profile('program', ...lines)).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/gives no token: invalid_client; check clientId and the client's secret\n$/u);
  });
});
