import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePort, start } from './command.js';
import { fileText } from './compose.js';
import { until } from './until.js';

/** Where one of the processes behind it listens. */
export type Behind = { readonly grpcPort: number; readonly httpPort: number };

/** The load balancer of docker-compose.yml, with processes of this machine behind it. */
export type LoadBalancer = {
  /** `host:port` */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** How many requests each process has had from a part of it, by its name. */
  readonly requests: (part: 'grpc' | 'rest') => Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
};

/** Whether this machine has the program; without, the tests are skipped by name. */
export const hasLoadBalancer = spawnSync('haproxy', ['-v']).status === 0;

/** The configuration as it is committed, but for names and ports. */
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

/** Starts it before two processes, and waits until one of them is ready. */
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
    requests: (part) => {
      const counts: Record<string, number> = {};
      for (const [, name = ''] of stdout().matchAll(new RegExp(` ${part}/(\\S+) `, 'gu')))
        counts[name] = (counts[name] ?? 0) + 1;
      return counts;
    },
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
};
