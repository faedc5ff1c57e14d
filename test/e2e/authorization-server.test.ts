import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { flightlog, freePort } from '../support/processes/command.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { getCode, post, redeem, refresh } from '../support/browser/sign-in.js';

const data = mkdtempSync(join(tmpdir(), 'flightlog-authorization-'));
const ALICE = { name: 'alice', password: 'marked-password-of-alice' };
/** Time limit of a test; most tests start several processes. */
const LIMIT_MS = 60_000;

/** Passwords, secrets, codes and tokens that must be written nowhere. */
const secrets = new Set([ALICE.password]);
/** The logs of the servers that were killed. */
const logs: string[] = [];
let issuer = '';
let server: ServerProcess;

const serving = (failPoint?: string): Promise<ServerProcess> =>
  startServerProcess({
    data,
    args: ['--http-port', new URL(issuer).port, '--log-level', 'trace'],
    env: { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true', ...(failPoint !== undefined && { FLIGHTLOG_FAIL_POINT: failPoint }) },
  });

/** Kills the server, and starts it again on the same port. */
const killAndRestart = async (failPoint?: string): Promise<void> => {
  await server.kill();
  logs.push(server.log());
  server = await serving(failPoint);
};

const run = (args: readonly string[], input = '') => flightlog([...args, '--data', data], { input }).ended;

const ask = async (path: string, token = '', init: RequestInit = {}) => {
  const headers = { ...(token !== '' && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' };
  const answer = await fetch(`${issuer}${path}`, { ...init, headers });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

/** Gets a token for a client, and adds token and secret to `secrets`. Gives '' when the client gets no token. */
const tokenFor = async (id: string, secret: string): Promise<string> => {
  const fields = { grant_type: 'client_credentials', scope: 'all' };
  const { body } = await post(`${issuer}/oauth2/token`, fields, `${id}:${secret}`);
  const { access_token: token = '' } = body;
  for (const each of [secret, token]) if (each !== '') secrets.add(each);
  return token;
};

beforeAll(async () => {
  issuer = `http://127.0.0.1:${await freePort()}`;
}, LIMIT_MS);

afterAll(async () => {
  await server.stop();
  rmSync(data, { recursive: true });
});

describe(
  'the authorization server',
  () => {
    it('does not start without a user, and says which command adds the first', async () => {
      const env = { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true' };
      const refused = await flightlog(['serve', '--data', data, '--grpc-port', '0', '--http-port', '0'], { env }).ended;
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain(`flightlog user add NAME --roles administrator --data ${data}`);
      const added = await run(['user', 'add', 'alice', '--roles', 'administrator'], `${ALICE.password}\n`);
      expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('alice can sign in') as string });
      expect((await run(['client', 'add', 'alice'])).stderr).toContain('there is a user alice already');
      const ofConsole = (await run(['client', 'add', 'flightlog-console'])).stderr;
      expect(ofConsole).toContain('there is a client flightlog-console already');
      const ofScheme = (await run(['client', 'add', 'app', '--public', '--redirect-uri', 'com.example.app:/end']))
        .stderr;
      expect(ofScheme).toContain('com.example.app:/end is not an http or https address without a fragment');
      server = await serving();
    });

    it('gives a client that is added while it runs tokens with its roles, until the client is removed', async () => {
      const { stdout } = await run(['client', 'add', 'reader', '--roles', 'viewer']);
      const token = await tokenFor('reader', stdout.trim());
      expect(await ask('/api/v1/projects', token)).toMatchObject({ status: 200 });
      const project = { method: 'POST', body: JSON.stringify({ project: { id: 'mine', name: 'mine' } }) };
      expect(await ask('/api/v1/projects', token, project)).toMatchObject({ status: 403 });
      expect(await ask('/api/v1/projects')).toMatchObject({ status: 401 });
      await run(['client', 'remove', 'reader']);
      expect(await tokenFor('reader', stdout.trim())).toBe('');
    });

    it('gives clients what they need to sign in, a person her name and roles, and has commands in the audit', async () => {
      expect((await ask('/config/v1/flyte_client')).body).toMatchObject({
        client_id: 'flytectl',
        scopes: ['all', 'offline'],
        authorization_metadata_key: 'flyte-authorization',
      });
      expect((await ask('/api/v1/auth/metadata')).body).toMatchObject({ token_endpoint: `${issuer}/oauth2/token` });
      const { body } = await redeem(issuer, await getCode(issuer, ALICE));
      expect((await ask('/api/v1/me', body['access_token'])).body).toMatchObject({
        subject: 'alice',
        preferred_username: 'alice',
        additional_claims: { roles: ['administrator'] },
      });
      const audit = (await ask('/api/v1/audit', body['access_token'])).body as { readonly entries: readonly object[] };
      const byCommand = { principal: userInfo().username, transport: 'command-line', code: 'OK' };
      expect(audit.entries).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ ...byCommand, action: 'flightlog user add', name: 'alice' }),
          expect.objectContaining({ ...byCommand, action: 'flightlog client remove', name: 'reader' }),
        ]),
      );
    });

    it('accepts no code twice, though killed before and during its first use', async () => {
      const code = await getCode(issuer, ALICE);
      secrets.add(code.code).add(code.verifier);
      await killAndRestart('after-consume:1');
      await expect(redeem(issuer, code)).rejects.toThrow('fetch failed');
      await killAndRestart();
      expect((await redeem(issuer, code)).status).toBe(400);
    });

    it('accepts no refresh token twice, though killed after its first use', async () => {
      const { body } = await redeem(issuer, await getCode(issuer, ALICE));
      secrets.add(body['refresh_token']!);
      expect((await refresh(issuer, body['refresh_token'])).status).toBe(200);
      await killAndRestart();
      expect((await refresh(issuer, body['refresh_token'])).status).toBe(400);
    });

    it('writes no password, secret, code or token to a log or file', () => {
      const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
      const written = [
        ...logs,
        server.log(),
        ...files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1')),
      ];
      expect(secrets.size).toBe(6); // a password, a secret, an access token, a code with its verifier, a refresh token
      for (const secret of secrets)
        expect(
          written.some((text) => text.includes(secret)),
          `${secret} was written`,
        ).toBe(false);
    });
  },
  LIMIT_MS,
);
