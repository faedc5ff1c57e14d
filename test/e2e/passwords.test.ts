import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EventStoreDBClient } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { certificates } from '../support/servers/certificates.js';
import { flightlog } from '../support/processes/command.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const certificateFiles = certificates();
const data = mkdtempSync(join(tmpdir(), 'flightlog-passwords-'));
/** Every secret that these tests choose begins with `marked`, by which they find any that is written somewhere. */
const ALICE = { username: 'alice', password: 'marked-password-of-alice' };
/** Statuses of gRPC. */
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

let server: ServerProcess;
let engine = { username: 'engine', password: '' };
const clients: EventStoreDBClient[] = [];

const run = (args: readonly string[], input = '') => flightlog([...args, '--data', data], { input }).ended;

/** The number of events, at most three, that an official client reads with these credentials. */
const readFirstEvents = async (credentials: typeof ALICE): Promise<number> => {
  const uri = `esdb://${server.ready.eventstore ?? ''}?tlsCAFile=${certificateFiles.file('ours.pem')}`;
  const client = EventStoreDBClient.connectionString(uri);
  clients.push(client);
  let count = 0;
  for await (const { event } of client.readAll({ maxCount: 3, credentials })) count += event ? 1 : 0;
  return count;
};

/** `OK`, or the gRPC status with which a read with these credentials fails. */
const codeOf = async (credentials: typeof ALICE): Promise<unknown> =>
  readFirstEvents(credentials).then(
    () => 'OK',
    (error: unknown) => {
      const { code, _raw } = error as { readonly code?: number; readonly _raw?: { readonly code?: number } };
      return _raw?.code ?? code;
    },
  );

type HttpRequest = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Sends a request to the HTTP port, and returns the text of the answer. */
const ask = (path: string, { body = '', ...init }: HttpRequest = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(
      `${server.ready.http}${path}`,
      { ...init, ca: readFileSync(certificateFiles.file('ours.pem')) },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve(text));
      },
    );
    asked.on('error', reject).end(body);
  });

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const basic = (name: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`,
});

const tokenOfEngine = async (): Promise<string> => {
  const headers = { ...form, ...basic(engine.username, engine.password) };
  const answer = await ask('/oauth2/token', {
    method: 'POST',
    headers,
    body: 'grant_type=client_credentials&scope=all',
  });
  return (JSON.parse(answer) as { readonly access_token: string }).access_token;
};

beforeAll(async () => {
  certificateFiles.authority('ours');
  certificateFiles.issue('ours', 'server');
  await run(['user', 'add', 'alice', '--roles', 'administrator'], `${ALICE.password}\n`);
  const { stdout } = await run(['client', 'add', 'engine', '--roles', 'viewer', 'administrator']);
  engine = { ...engine, password: stdout.trim() };
  await run(['user', 'add', 'guest'], 'marked-password-of-guest\n');
  server = await startServerProcess({
    data,
    args: ['--eventstore-port', '0', '--log-level', 'trace'].concat(
      ...['--tls-cert', certificateFiles.file('server.pem'), '--tls-key', certificateFiles.file('server.key')],
    ),
    env: { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true', FLIGHTLOG_PROJECTS: '[flytesnacks]' },
  });
}, 60_000);
afterAll(async () => {
  for (const client of clients) await client.dispose();
  await server.stop();
  certificateFiles.remove();
  rmSync(data, { recursive: true });
});

describe('user names and passwords on the port of the EventStoreDB protocol', () => {
  it('can be those of a person, a client with its secret, or `token` with an access token', async () => {
    expect(await readFirstEvents(ALICE)).toBeGreaterThan(0);
    expect(await readFirstEvents(engine)).toBeGreaterThan(0);
    expect(await readFirstEvents({ username: 'token', password: await tokenOfEngine() })).toBeGreaterThan(0);
  });

  it('are refused when they are wrong, or give no permission', async () => {
    expect(await codeOf({ ...ALICE, password: 'marked-wrong-password' })).toBe(UNAUTHENTICATED);
    expect(await codeOf({ ...engine, password: 'marked-wrong-secret' })).toBe(UNAUTHENTICATED);
    expect(await codeOf({ username: 'nobody', password: 'marked-no-password' })).toBe(UNAUTHENTICATED);
    expect(await codeOf({ username: 'guest', password: 'marked-password-of-guest' })).toBe(PERMISSION_DENIED);
  });

  it('are refused as soon as the client is removed', async () => {
    const { stdout } = await run(['client', 'add', 'brief', '--roles', 'viewer']);
    const brief = { username: 'brief', password: stdout.trim() };
    expect(await codeOf(brief)).toBe('OK');
    await run(['client', 'remove', 'brief']);
    expect(await codeOf(brief)).toBe(UNAUTHENTICATED);
  });

  it('keep no subscription open once the person is removed', async () => {
    await run(['user', 'add', 'leaving', '--roles', 'viewer'], 'marked-password-of-leaving\n');
    const uri = `esdb://${server.ready.eventstore ?? ''}?tlsCAFile=${certificateFiles.file('ours.pem')}`;
    const client = EventStoreDBClient.connectionString(uri);
    clients.push(client);
    const credentials = { username: 'leaving', password: 'marked-password-of-leaving' };
    const subscription = client.subscribeToAll({ credentials });
    const ended = once(subscription, 'error');
    await once(subscription, 'data');
    await run(['user', 'remove', 'leaving']);
    const [error] = (await ended) as [{ readonly code?: number; readonly _raw?: { readonly code?: number } }];
    expect(error._raw?.code ?? error.code).toBe(UNAUTHENTICATED);
  });

  it('are in the audit when they are refused, without secrets', async () => {
    const authorization = `Bearer ${await tokenOfEngine()}`;
    const written = await until(
      () => ask('/api/v1/audit', { headers: { authorization } }),
      (text) => text.includes('eventstoredb') && text.includes('guest'),
    );
    expect(written).toContain('Streams/Read');
    expect(written).not.toContain('marked');
  });
});

describe('secrets that are sent', () => {
  it('are in no metrics, log or file, however they are sent', async () => {
    const token = await tokenOfEngine();
    const marked = (way: string): string => `marked-secret-by-${way}`;
    await ask('/api/v1/projects', { headers: { authorization: `Bearer ${marked('bearer')}` } });
    await ask('/api/v1/projects', { headers: { 'flyte-authorization': `Bearer ${marked('metadata')}` } });
    await ask('/api/v1/projects', { headers: { cookie: `__Host-flightlog_session=${marked('cookie')}` } });
    await ask('/api/v1/projects', { headers: basic('engine', marked('basic')) });
    await ask(`/api/v1/projects?access_token=${marked('query')}`);
    await ask(`/login?redirect_url=/console?${marked('login')}`);
    await ask(`/callback?state=${marked('state')}&code=${marked('code')}`);
    for (const body of [
      `grant_type=client_credentials&client_id=engine&client_secret=${marked('form')}`,
      `grant_type=refresh_token&client_id=flytectl&refresh_token=${marked('refresh')}`,
      `grant_type=authorization_code&client_id=flytectl&code=${marked('redeem')}&code_verifier=${marked('verifier')}`,
    ])
      await ask('/oauth2/token', { method: 'POST', headers: form, body });
    await ask('/oauth2/revoke', {
      method: 'POST',
      headers: form,
      body: `client_id=flytectl&token=${marked('revoke')}`,
    });
    await ask('/oauth2/device', { method: 'POST', headers: form, body: `user_code=${marked('device')}` });
    const metrics = await ask('/metrics', { headers: { authorization: `Bearer ${token}` } });
    await server.stop();
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const written = files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'));
    const secrets = ['marked-', ALICE.password, engine.password, token];
    for (const text of [metrics, server.log(), ...written])
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });
});
