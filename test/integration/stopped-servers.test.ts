import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { readStoreLocation } from '../../projections/store/mongo/location.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { CHECKOUT, flightlog, freePort, start } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { fixtureFolder } from '../support/requests/fixtures.js';
import { readiness, untilCheck } from '../support/processes/health.js';
import { helloRequest } from '../support/requests/hello.js';
import { newPrefix } from '../support/servers/kafka-server.js';
import { dropDatabase, newMongoLocation, mongoUrl } from '../support/servers/mongo-server.js';
import { startProxy } from '../support/proxies/proxy.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;

/** The least length of an outage in milliseconds; with a longer one, more happens meanwhile. */
const STOPPED_MS = Number(process.env['FLIGHTLOG_TEST_STOPPED_SECONDS'] ?? 3) * 1_000;
const LIMIT_MS = 240_000 + 5 * STOPPED_MS;

/**
 * The options of a poll, in milliseconds: time to catch up with the events recorded during an outage, enough for a
 * stand-in server on a busy machine.
 */
const catchingUp = { timeout: 60_000 + 3 * STOPPED_MS, interval: 200 };

/** The state of one check of the server, such as `well` or `degraded`. */
const stateOf = async (http: string, check: string): Promise<string | undefined> =>
  (await readiness(http)).checks[check]?.state;

/** The folder with the Java libraries of a Kafka broker, which the test starts and kills; absent without Kafka. */
const libraries = process.env['FLIGHTLOG_TEST_KAFKA_LIBS'];

/** The identifier of an execution; of all executions of the domain for an empty name. */
const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** Launches one execution after another, without a pause, until `meanwhile` settles; returns their names. */
const launching = async (api: Transport, prefix: string, meanwhile: Promise<unknown>): Promise<readonly string[]> => {
  const state = { isOver: false };
  const over = meanwhile.finally(() => (state.isOver = true));
  const names: string[] = [];
  while (!state.isOver) {
    const name = `${prefix}-${names.length}`;
    const { code, message } = await api.attempt(method.createExecution, helloRequest(name));
    if (code !== 'OK') throw new Error(`${name}: ${code}: ${message}`);
    names.push(name);
  }
  await over;
  return names;
};

/** Starts a server, and registers the tasks, workflow and launch plan that executions are launched from. */
const started = async (data: string, args: readonly string[], env = {}): Promise<[ServerProcess, Transport]> => {
  const server = await startServerProcess({ data, args, env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...env } });
  const api = overGrpc(server.ready);
  await register(api, [fixtureFolder('01-hello')]);
  return [server, api];
};

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'flightlog-stopped-'));

describe.skipIf(mongoUrl === undefined)('a read store that cannot be reached for a while, under load', () => {
  it(
    'does not keep commands from being accepted, and has all executions afterwards',
    async () => {
      const folder = newFolder();
      const location = newMongoLocation();
      const proxy = await startProxy(new URL(location.url).host);
      // A direct connection, because the address that the server reports would bypass the proxy.
      const url = `mongodb://${proxy.address}/${location.database}?directConnection=true&serverSelectionTimeoutMS=500`;
      expect(readStoreLocation(url)).toMatchObject({ kind: 'mongodb' });
      const [server, api] = await started(folder, ['--read-store', url]);
      const outage = async (): Promise<void> => {
        proxy.shut();
        const body = await untilCheck(server.ready.http, 'read-store', 'degraded');
        expect(body.ready).toBe(true);
        expect(body.checks['read-store']?.why).toContain('read store mongodb://');
        await setTimeout(STOPPED_MS);
        proxy.open();
      };
      const names = await launching(api, 'views', outage());
      expect(names.length).toBeGreaterThan(10);
      await untilCheck(server.ready.http, 'read-store', 'well');
      await expect.poll(() => stateOf(server.ready.http, 'views'), catchingUp).toBe('well');
      for (const name of [names[0] ?? '', names.at(-1) ?? ''])
        expect((await api.attempt(method.getExecution, { id: idOf(name) })).code, name).toBe('OK');
      const listed = await until(
        () => api.call(method.listExecutions, { id: idOf(''), limit: names.length + 1 }),
        ({ executions }) => executions.length >= names.length,
      );
      expect(listed.executions.map(({ id }) => id?.name).sort()).toEqual([...names].sort());
      api.close();
      expect(await server.stop()).toBe(0);
      await proxy.close();
      await dropDatabase(location);
      rmSync(folder, { recursive: true });
    },
    LIMIT_MS,
  );
});

describe.skipIf(libraries === undefined)('a broker that is killed and started again, under load', () => {
  it(
    'has each event once afterwards, and readyz shows the lag of the export meanwhile',
    async () => {
      const folder = newFolder();
      const [port, controller, sasl] = [await freePort(), await freePort(), await freePort()];
      const brokers = `127.0.0.1:${port}`;
      const program = join(CHECKOUT, 'test/services/kafka-broker');
      const startBroker = async () => {
        const args = [libraries ?? '', join(folder, 'kafka'), port, controller, sasl].map(String);
        const broker = start(program, args);
        await broker.said('Kafka Server started');
        return broker;
      };
      let broker = await startBroker();
      const prefix = newPrefix();
      const data = join(folder, 'data');
      const env = { FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix };
      const [server, api] = await started(data, ['--kafka', brokers], env);
      const outage = async (): Promise<void> => {
        broker.child.kill('SIGKILL');
        await broker.ended;
        const body = await untilCheck(server.ready.http, 'export', 'degraded');
        expect(body.ready).toBe(true);
        await setTimeout(STOPPED_MS);
        await until(
          () => untilCheck(server.ready.http, 'export', 'degraded'),
          ({ checks }) => (checks['export']?.lagMs ?? 0) > 5_000,
        );
        broker = await startBroker();
      };
      const names = await launching(api, 'events', outage());
      expect(names.length).toBeGreaterThan(10);
      await expect.poll(() => stateOf(server.ready.http, 'export'), catchingUp).toBe('well');
      await until(
        () => readiness(server.ready.http),
        ({ checks }) => checks['export']?.lagMs === 0,
      );
      api.close();
      expect(await server.stop()).toBe(0);
      const args = ['export', 'reconcile', '--data', data, '--kafka', brokers];
      const { code, stdout, stderr } = await flightlog(args, { env }).ended;
      const found = JSON.parse(stdout) as { readonly expected: number };
      expect(found, stderr).toMatchObject({ missing: 0, doubled: 0, reordered: 0, found: found.expected });
      expect(found.expected).toBeGreaterThan(names.length);
      expect(code).toBe(0);
      broker.child.kill('SIGKILL');
      await broker.ended;
      rmSync(folder, { recursive: true });
    },
    LIMIT_MS,
  );
});
