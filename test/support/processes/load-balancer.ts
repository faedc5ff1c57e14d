import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePort, start } from './command.js';
import { fileText } from './compose.js';
import { until } from '../until.js';

/** The ports of a process behind the load balancer. */
export type Behind = { readonly grpcPort: number; readonly httpPort: number };

/** The load balancer of docker-compose.yml, in front of processes on this machine. */
export type LoadBalancer = {
  /** `host:port` */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** The number of requests that the load balancer has sent to each process, by the process's name in its backend. */
  readonly requests: (backend: 'grpc' | 'rest') => Readonly<Record<string, number>>;
  /** The lines of its log that report a process as up or down, with the reason. */
  readonly changes: () => readonly string[];
  readonly close: () => Promise<void>;
};

/** True when this machine has HAProxy; without it, the tests that need it are skipped. */
export const hasLoadBalancer = spawnSync('haproxy', ['-v']).status === 0;

/** The committed configuration, with other names and ports. */
const configurationFor = ([first, second]: readonly [Behind, Behind], grpc: number, http: number): string => {
  const behind = { 'api-1': first, 'api-2': second };
  return fileText('deployment/haproxy.cfg')
    .replace('bind :8081', `bind 127.0.0.1:${grpc}`)
    .replace('bind :8080', `bind 127.0.0.1:${http}`)
    .replace(' resolvers containers', '')
    .replaceAll(/(api-[12]):808([01])(.*)/gu, (_, name: keyof typeof behind, port: string, rest: string) => {
      const { grpcPort, httpPort } = behind[name];
      return `127.0.0.1:${port === '1' ? grpcPort : httpPort}${rest.replace('port 8080', `port ${httpPort}`)}`;
    });
};

/** Starts HAProxy in front of two processes, and waits until one of them is ready. */
export const startLoadBalancer = async (behind: readonly [Behind, Behind]): Promise<LoadBalancer> => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-balancer-'));
  const [grpc, http] = [await freePort(), await freePort()];
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configurationFor(behind, grpc, http));
  const { child, ended, stdout } = start('haproxy', ['-db', '-f', file]);
  const url = `http://127.0.0.1:${http}`;
  const status = (): Promise<number> =>
    fetch(`${url}/readyz`).then(
      (answer) => answer.status,
      () => 0,
    );
  await until(status, (is) => is === 200);
  return {
    grpc: `127.0.0.1:${grpc}`,
    http: url,
    requests: (backend) => {
      const counts: Record<string, number> = {};
      for (const [, name = ''] of stdout().matchAll(new RegExp(` ${backend}/(\\S+) `, 'gu')))
        counts[name] = (counts[name] ?? 0) + 1;
      return counts;
    },
    changes: () =>
      stdout()
        .split('\n')
        .filter((line) => / is (?:UP|DOWN)\b/u.test(line)),
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
};
