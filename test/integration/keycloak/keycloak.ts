import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

import { CHECKOUT, freePort, type Running, start } from '../../support/processes/command.js';
import { post } from '../../support/browser/sign-in.js';
import { until } from '../../support/until.js';

/** The folder of this file in the checkout. */
const FOLDER = join(CHECKOUT, 'test/integration/keycloak');

const prepared = (): string | undefined => {
  const { FLIGHTLOG_TEST_KEYCLOAK: namedFolder, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  const folder = namedFolder ?? join(cache, 'flightlog/keycloak');
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const isCurrent =
    read(join(folder, 'has.txt')) === read(join(FOLDER, 'environment')) + read(join(FOLDER, 'realm.json'));
  return isCurrent ? join(folder, 'keycloak') : undefined;
};

/** The folder of the Keycloak that the script `environment` has prepared from the present files. */
export const keycloakFolder = prepared();

/** True when the tests are required, or when the path of the environment is set. */
export const isRequired =
  process.env['FLIGHTLOG_TEST_REQUIRES_KEYCLOAK'] === '1' || process.env['FLIGHTLOG_TEST_KEYCLOAK'] !== undefined;

/** A Keycloak with the realm `ml` of `realm.json`. */
export type Keycloak = {
  readonly issuer: string;
  /** Gets a token by client credentials, for a client of the realm. */
  readonly tokenOf: (client: string, secret: string) => Promise<string>;
  /** Adds a key, which signs all tokens from now on. */
  readonly rotateKeys: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Starts it again after a stop, with the same data. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The longest wait until Keycloak answers after its start. */
const READY_MS = 180_000;

/** True when an address answers with a status of success. */
const isServed = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

const launch = (folder: string, data: string, port: number): Running =>
  start(
    join(folder, 'bin/kc.sh'),
    [
      ...['start', '--optimized', '--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`],
      ...[`--hostname=http://127.0.0.1:${port}`, '--cache=local', '--log-level=warn'],
      `--db-url=jdbc:h2:file:${join(data, 'keycloakdb')};NON_KEYWORDS=VALUE`,
    ],
    { env: { JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1 -Xmx384m' } },
  );

/** Starts the prepared Keycloak on a copy of its data. */
export const startKeycloak = async (folder: string): Promise<Keycloak> => {
  const [data, port] = [mkdtempSync(join(tmpdir(), 'flightlog-keycloak-')), await freePort()];
  cpSync(join(folder, 'data/h2'), data, { recursive: true });
  const base = `http://127.0.0.1:${port}`;
  const issuer = `${base}/realms/ml`;
  let running: Running;
  const begin = async (): Promise<void> => {
    running = launch(folder, data, port);
    const died = running.ended.then(({ stdout, stderr }) => Promise.reject(new Error(`${stdout}${stderr}`)));
    const isReady = () => isServed(`${issuer}/.well-known/openid-configuration`);
    await Promise.race([until(isReady, (ready) => ready, READY_MS), died]);
    died.catch(() => undefined);
  };
  const stop = async (): Promise<void> => {
    running.child.kill('SIGTERM');
    await running.ended;
  };
  const tokenOf = async (client: string, secret: string): Promise<string> => {
    const fields = { grant_type: 'client_credentials' };
    const { body } = await post(`${issuer}/protocol/openid-connect/token`, fields, `${client}:${secret}`);
    return body['access_token'] ?? '';
  };
  await begin();
  return {
    issuer,
    tokenOf,
    rotateKeys: async () => {
      // `keeper` is the client of the realm that may manage its keys.
      const keeper = await tokenOf('keeper', 'secret-of-the-keeper');
      const { status } = await fetch(`${base}/admin/realms/ml/components`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keeper}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'newer',
          providerId: 'rsa-generated',
          providerType: 'org.keycloak.keys.KeyProvider',
          config: {
            priority: ['200'], // above that of the first key
            enabled: ['true'],
            active: ['true'],
          },
        }),
      });
      if (status !== 201) throw new Error(`no new key: ${status}`);
    },
    stop,
    start: begin,
    close: async () => {
      await stop();
      rmSync(data, { recursive: true });
    },
  };
};
