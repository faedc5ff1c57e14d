import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../processes/command.js';
import { until } from '../until.js';
import { ADMIN_TOKEN, ask, BRIDGE_TOKEN, BRIDGE_USER, type KubernetesServer } from './server.js';

/** The binary of a real API server that tests may start; without it, the tests that need one are skipped. */
export const kubeApiserver = process.env['FLIGHTLOG_TEST_KUBE_APISERVER'];
/** The binary of etcd, where the API server stores its objects. */
const etcd = process.env['FLIGHTLOG_TEST_ETCD'] ?? 'etcd';

/** The lines of the token file of the API server: token, user name, user id, and groups if any. */
const TOKENS = `${ADMIN_TOKEN},admin,1,system:masters\n${BRIDGE_TOKEN},${BRIDGE_USER},2\n`;

/** Kills a process that is still running, and waits for its end. */
const killed = async (child: ChildProcess | undefined): Promise<void> => {
  if (child?.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
};

/** Starts etcd on free ports; `url` is for its clients. */
const startEtcd = async (directory: string): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
  const [client, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const flags = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
  const rest = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`, '--log-level', 'error'];
  const child = spawn(etcd, ['--data-dir', join(directory, 'etcd'), ...flags, ...rest], { stdio: 'ignore' });
  return { child, url: client };
};

/** Writes the key pair for tokens of service accounts, and the token file. */
const writeFiles = (directory: string): void => {
  const key = join(directory, 'accounts.key');
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' });
  execFileSync('openssl', ['rsa', '-in', key, '-pubout', '-out', `${key}.pub`], { stdio: 'ignore' });
  writeFileSync(join(directory, 'tokens.csv'), TOKENS);
};

const flagsOf = (directory: string, port: number, etcdUrl: string): readonly string[] => [
  `--etcd-servers=${etcdUrl}`,
  `--cert-dir=${directory}/certificates`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--service-account-key-file=${directory}/accounts.key.pub`,
  `--service-account-signing-key-file=${directory}/accounts.key`,
  '--service-account-issuer=https://127.0.0.1',
  `--token-auth-file=${directory}/tokens.csv`,
  '--authorization-mode=RBAC',
  '--service-cluster-ip-range=10.0.0.0/24',
  '--disable-admission-plugins=ServiceAccount',
];

/** Starts etcd and a real Kubernetes API server on free ports, and waits until it is ready. */
export const startRealServer = async (): Promise<KubernetesServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-kubernetes-'));
  writeFiles(directory);
  const storage = await startEtcd(directory);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    child = spawn(kubeApiserver ?? '', flagsOf(directory, port, storage.url), { stdio: 'ignore' });
    await until(
      () => ask({ url }, 'GET', '/api/v1/namespaces/default').catch(() => ({ status: 0 })),
      ({ status }) => status === 200,
    );
  };
  await start();
  return {
    url,
    start,
    kill: () => killed(child),
    close: async () => {
      await killed(child);
      await killed(storage.child);
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
