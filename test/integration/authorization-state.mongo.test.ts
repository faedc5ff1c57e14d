import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { mongoAuthorizationState } from '../../projections/store/mongo/mongo-authorization-state.js';
import { authorizationStateContract } from '../contract/authorization-state.contract.js';
import { openBrowser } from '../support/browser/browser.js';
import { flightlog, freePort } from '../support/processes/command.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { begin, getCode, redeem, refresh } from '../support/browser/sign-in.js';

const ALICE = { name: 'alice', password: 'password-of-alice' };

describe.skipIf(mongoUrl === undefined)('with a MongoDB', () => {
  const location = newMongoLocation();
  afterAll(() => dropDatabase(location));

  authorizationStateContract('a MongoDB', () => mongoAuthorizationState(location));
});

describe.skipIf(mongoUrl === undefined)('two processes that share the state of the authorization server', () => {
  const location = newMongoLocation();
  const root = mkdtempSync(join(tmpdir(), 'flightlog-authorization-state-'));
  const users = join(root, 'one/users.json');
  let issuer: string;
  /** The process at the address of the issuer, and one at another address. */
  let one: ServerProcess;
  let other: ServerProcess;

  /** Starts one of the processes, `one` or `other`. */
  const serve = (name: string, failPoint?: string): Promise<ServerProcess> =>
    startServerProcess({
      data: join(root, name),
      args: name === 'one' ? ['--http-port', new URL(issuer).port] : [],
      env: {
        FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
        FLIGHTLOG_AUTH_SERVER_ISSUER: issuer,
        FLIGHTLOG_AUTH_SERVER_STATE_STORE: location.url,
        FLIGHTLOG_AUTH_SERVER_USERS_FILE: users,
        FLIGHTLOG_PROJECTS: '[flytesnacks]',
        ...(failPoint !== undefined && { FLIGHTLOG_FAIL_POINT: failPoint }),
      },
    });

  beforeAll(async () => {
    issuer = `http://127.0.0.1:${await freePort()}`;
    const args = ['user', 'add', 'alice', '--roles', 'viewer', '--data', join(root, 'one')];
    await flightlog(args, { input: `${ALICE.password}\n` }).ended;
    one = await serve('one');
    other = await serve('other');
  }, 120_000);

  afterAll(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await dropDatabase(location);
    rmSync(root, { recursive: true });
  });

  /** The HTTP status of a list of projects with an access token. */
  const projects = async ({ ready }: ServerProcess, token: string | undefined): Promise<number> =>
    (await fetch(`${ready.http}/api/v1/projects`, { headers: { authorization: `Bearer ${token ?? ''}` } })).status;

  it('complete sign-ins that the other one has begun, and accept the same tokens', async () => {
    const { url, verifier, redirect } = begin(issuer);
    const browser = openBrowser();
    const login = await browser.open(url.replace(issuer, other.ready.http));
    const consent = await browser.submit(
      { ...login, url: login.url.replace(other.ready.http, issuer) },
      '/login',
      ALICE,
    );
    const end = await browser.submit(consent, '/consent');
    const code = { code: new URL(end.url).searchParams.get('code') ?? '', verifier, redirect };
    const { status, body } = await redeem(other.ready.http, code);
    expect(status).toBe(200);
    expect([await projects(one, body['access_token']), await projects(other, body['access_token'])]).toEqual([
      200, 200,
    ]);
  });

  it('accept a code at most once between them, and a refresh token once', async () => {
    const code = await getCode(issuer, ALICE);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => redeem(at % 2 === 0 ? issuer : other.ready.http, code)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    const { body } = await redeem(issuer, await getCode(issuer, ALICE));
    expect((await refresh(other.ready.http, body['refresh_token'])).status).toBe(200);
    expect((await refresh(issuer, body['refresh_token'])).status).toBe(400);
  });

  it('refuse a code that the other one has used before it was killed', async () => {
    await other.kill();
    other = await serve('other', 'after-consume:1');
    const code = await getCode(issuer, ALICE);
    await expect(redeem(other.ready.http, code)).rejects.toThrow('fetch failed');
    other = await serve('other');
    expect((await redeem(issuer, code)).status).toBe(400);
    expect((await redeem(other.ready.http, code)).status).toBe(400);
  });
});
