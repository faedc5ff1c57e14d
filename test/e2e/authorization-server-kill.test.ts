import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { hashPassword } from '../../services/auth/users/password-hash.js';
import { usersFile } from '../../services/auth/users/users.js';
import { openBrowser } from '../support/browser/browser.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { getCode, type OAuthAnswer, post, redeem, refresh } from '../support/browser/sign-in.js';

const PROCESS = fileURLToPath(new URL('../support/processes/authorization-process.js', import.meta.url));
const ALICE = { name: 'alice', password: 'marked-password-of-alice' };
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The number of times that a start writes its state before it listens, when no keys are due. */
const WRITES_OF_A_START = 1;

/** Writes from one kill of a flow to the next; the first kill is after write 1. */
const STEP = Number(process.env['FLIGHTLOG_TEST_KILL_STEP'] ?? 5);

const directory = mkdtempSync(join(tmpdir(), 'flightlog-authorization-kill-'));

/** Every process listens on another port; the proxy gives them all one address, that of the issuer. */
let proxy: Proxy;
/** The address of the process that runs now. */
let target = '';
let issuer = '';

type Serving = {
  /** True when the process listened before it was killed. */
  readonly isReady: boolean;
  readonly kill: () => Promise<void>;
};

/**
 * Starts the server on the state of the directory. With `killAfter`, it is killed after that number of writes of the
 * state. Its clock is `passedMs` ahead.
 */
const serve = async ({ killAfter = 0, passedMs = 0 } = {}): Promise<Serving> => {
  const child = spawn(process.execPath, [PROCESS, directory, issuer, String(passedMs)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...(killAfter > 0 && { FLIGHTLOG_FAIL_POINT: `authorization-write:${killAfter}` }) },
  });
  const ended = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  const said = once(child.stdout, 'data').then(([port]: Buffer[]) => (target = `127.0.0.1:${String(port).trim()}`));
  const isReady = await Promise.race([said.then(() => true), ended.then(() => false)]);
  return {
    isReady,
    kill: async () => {
      child.kill('SIGKILL');
      expect((await ended)[1]).toBe('SIGKILL');
    },
  };
};

/** Runs `work` while a server runs, and kills the server afterwards. */
const withServer = async <Result>(work: () => Promise<Result>, passedMs = 0): Promise<Result> => {
  const serving = await serve({ passedMs });
  try {
    return await work();
  } finally {
    await serving.kill();
  }
};

/** A code or token that can be used once, and the answers to all its uses. */
type Once = { readonly uses: OAuthAnswer[]; use?: () => Promise<OAuthAnswer> };

/** Uses the code or token, when the flow has got it. */
const use = async (secret: Once): Promise<void> => {
  if (secret.use) secret.uses.push(await secret.use());
};

const successes = ({ uses }: Once): number => uses.filter(({ status }) => status === 200).length;

const codeFlow = async (secret: Once): Promise<void> => {
  const code = await getCode(issuer, ALICE);
  secret.use = () => redeem(issuer, code);
  await use(secret);
};

const getRefreshToken = async (secret: Once): Promise<void> => {
  const { body } = await redeem(issuer, await getCode(issuer, ALICE));
  secret.use = () => refresh(issuer, body['refresh_token']);
};

const poll = (code: string | undefined): Promise<OAuthAnswer> =>
  post(`${issuer}/oauth2/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: 'flytectl',
    device_code: code ?? '',
  });

const deviceFlow = async (secret: Once): Promise<void> => {
  const { body } = await post(`${issuer}/oauth2/device/authorize`, { client_id: 'flytectl', scope: 'all offline' });
  secret.use = () => poll(body['device_code']);
  const browser = openBrowser();
  const form = await browser.open(body['verification_uri'] ?? '');
  const confirm = await browser.submit(form, '/oauth2/device', { user_code: body['user_code'] ?? '' });
  const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
  await browser.submit(await browser.submit(login, '/login', ALICE), '/consent');
  await use(secret);
};

type Flow = {
  readonly name: string;
  /** Gets the token that the flow uses, from a server that is not killed before that is done. */
  readonly prepare?: (secret: Once) => Promise<void>;
  /** Runs the flow to its end. */
  readonly run: (secret: Once) => Promise<void>;
};

const FLOWS: readonly Flow[] = [
  { name: 'the code flow', run: codeFlow },
  { name: 'the rotation of refresh tokens', prepare: getRefreshToken, run: use },
  { name: 'the device flow', run: deviceFlow },
];

/** The errors of `fetch` when the server is gone before, and in the middle of, its answer. */
const GONE = ['fetch failed', 'terminated'];

/** Runs a flow on a server that is killed after write number `write` of the flow. @returns false when it made fewer. */
const isKilledIn = async ({ run }: Flow, secret: Once, write: number): Promise<boolean> => {
  const serving = await serve({ killAfter: WRITES_OF_A_START + write });
  try {
    await run(secret);
    return false;
  } catch (error) {
    if (error instanceof TypeError && GONE.includes(error.message)) return true;
    throw error;
  } finally {
    await serving.kill();
  }
};

/**
 * Kills a server after write number `write` of a flow. Expects of the next server that the code or token works at most
 * once in all, and that the flow succeeds from its start.
 *
 * @returns false when the flow made fewer writes.
 */
const killed = async (flow: Flow, write: number): Promise<boolean> => {
  const secret: Once = { uses: [] };
  const { prepare } = flow;
  if (prepare) await withServer(() => prepare(secret));
  const isKilled = await isKilledIn(flow, secret, write);
  const answered = successes(secret);
  await withServer(async () => {
    await use(secret);
    await use(secret);
    const statuses = secret.uses.map(({ status }) => status);
    expect(successes(secret), `${statuses.join()} after write ${write}`).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([]);
    if (answered === 1) expect(statuses).toEqual([200, 400, 400]);
    const again: Once = { uses: [] };
    await prepare?.(again);
    await flow.run(again);
    expect(successes(again), `again after write ${write}`).toBe(1);
  });
  return isKilled;
};

const getToken = async (): Promise<string> =>
  (await redeem(issuer, await getCode(issuer, ALICE))).body['access_token'] ?? 'there is none';

const publishedKeys = async (): Promise<JSONWebKeySet> =>
  (await (await fetch(`${issuer}/oauth2/jwks`)).json()) as JSONWebKeySet;

/**
 * Starts a process `write` days later, kills it after write number `write`, and checks the keys of the next process,
 * two hours later, when the new key signs.
 */
const rotate = async (write: number, before: string): Promise<{ isKilled: boolean; token: string }> => {
  const passedMs = write * DAY_MS; // a new key is due, and the tokens of the last key but one have expired
  const serving = await serve({ killAfter: write, passedMs });
  await serving.kill();
  const token = await withServer(
    async () => {
      const [keys, made] = [await publishedKeys(), await getToken()];
      expect(keys.keys.length, `after write ${write}`).toBe(2);
      for (const each of [before, made])
        expect(await jwtVerify(each, createLocalJWKSet(keys), { issuer, audience: issuer })).toBeDefined();
      return made;
    },
    passedMs + 2 * HOUR_MS,
  );
  return { isKilled: !serving.isReady, token };
};

beforeAll(async () => {
  proxy = await startProxy(() => target);
  issuer = `http://${proxy.address}`;
  const cheap = { ln: 10, r: 8, p: 1 }; // parameters of scrypt that take little time
  const alice = { password: await hashPassword(ALICE.password, cheap), roles: [] };
  await usersFile(join(directory, 'users.json')).change(() => new Map([['alice', alice]]));
  await withServer(() => Promise.resolve()); // makes the first key
}, 60_000);
afterAll(async () => {
  await proxy.close();
  rmSync(directory, { recursive: true });
});

describe('the authorization server, killed after a write of its state', () => {
  it.each(FLOWS)(
    'gives tokens at most once for one code or token of $name; the flow succeeds after a restart',
    async (flow) => {
      let write = 1;
      while (await killed(flow, write)) write += STEP;
      expect(write).toBeGreaterThan(1);
    },
    600_000,
  );

  it('has two keys after each rotation: a new one, and the one before, whose tokens are still valid', async () => {
    let last = { isKilled: true, token: await withServer(getToken) };
    let write = 0;
    while (last.isKilled) {
      write += 1;
      last = await rotate(write, last.token);
    }
    // A start writes three times: it adds a key, removes another, and removes what has expired. No fourth write kills
    // it.
    expect(write).toBe(4);
  }, 120_000);
});
