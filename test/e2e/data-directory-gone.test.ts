import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { flightlog } from '../support/processes/command.js';
import { readiness, untilCheck } from '../support/processes/health.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { registerTask } from '../support/requests/registrations.js';
import { until } from '../support/until.js';

/** Kill the servers that a test has started. */
const kills: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const kill of kills.splice(0).reverse()) await kill();
});

const startOnEmptyData = async (): Promise<{ data: string; server: ServerProcess; grpc: Transport }> => {
  const data = join(mkdtempSync(join(tmpdir(), 'flightlog-gone-')), 'data');
  const server = await startServerProcess({ data, args: ['--event-store', 'embedded:', '--read-store', 'sqlite:'] });
  kills.push(() => server.kill());
  return { data, server, grpc: overGrpc(server.ready) };
};

const register = (grpc: Transport, id: string): Promise<unknown> =>
  grpc.call(AdminService.method.registerProject, { project: { id, name: id } });

const NOT_READY = { ready: false, checks: { data: { state: 'down' } } };

it('a server whose data directory is removed refuses writes, is not ready, and logs the reason', async () => {
  const { data, server, grpc } = await startOnEmptyData();
  await register(grpc, 'before');
  renameSync(data, `${data}-removed`); // renamed first, because the server may be writing a checkpoint
  rmSync(`${data}-removed`, { recursive: true });
  await expect(register(grpc, 'after')).rejects.toThrow('UNAVAILABLE: the store is unavailable; nothing was recorded');
  expect(await readiness(server.ready.http)).toMatchObject(NOT_READY);
  await until(
    () => Promise.resolve(server.log()),
    (log) => log.includes(`${data} was removed or moved`),
  );
  expect(existsSync(data)).toBe(false);
});

it('a data directory that is moved away and back takes writes again, and has what was acknowledged', async () => {
  const { data, server, grpc } = await startOnEmptyData();
  await register(grpc, 'before');
  renameSync(data, `${data}-moved`);
  await expect(register(grpc, 'meanwhile')).rejects.toThrow('UNAVAILABLE');
  renameSync(`${data}-moved`, data);
  await untilCheck(server.ready.http, 'data', 'well');
  await register(grpc, 'after');
  await server.kill();
  const again = await startServerProcess({ data });
  kills.push(() => again.kill());
  const { projects } = await overGrpc(again.ready).call(AdminService.method.listProjects, { limit: 100 });
  const ids = projects.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['before', 'after']));
  expect(ids).not.toContain('meanwhile');
});

it('a log server starts no new log in a data directory whose views show that there was one', async () => {
  const { data, server } = await startOnEmptyData();
  await server.kill();
  for (const name of ['log.db', 'log.db-wal', 'log.db-shm']) rmSync(join(data, name), { force: true });
  const ports = ['--http-port', '0', '--eventstore-port', '0'];
  const starting = flightlog(['serve', '--role', 'log', '--insecure', '--data', data, ...ports]);
  kills.push(() => Promise.resolve(starting.child.kill('SIGKILL')));
  const { code, stderr } = await starting.ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/log\.db is missing, and views\.db shows that there was one/u);
  expect(existsSync(join(data, 'log.db'))).toBe(false);
});

it('a folder of payloads that is moved away and back takes none meanwhile, and has what was acknowledged', async () => {
  const { data, server, grpc } = await startOnEmptyData();
  const registerLarge = (name: string, size: number): Promise<unknown> =>
    registerTask(grpc, { name }, ({ spec }) => {
      const { target } = spec!.template!;
      if (target.case === 'container') target.value.args.push('x'.repeat(size));
    });
  const read = (name: string): Promise<unknown> =>
    grpc.call(AdminService.method.getTask, {
      id: { resourceType: ResourceType.TASK, project: 'flytesnacks', domain: 'development', name, version: 'v1' },
    });
  await register(grpc, 'flytesnacks');
  await registerLarge('before', 100_000);
  await read('before'); // the views have read its payload
  const payloads = join(data, 'payloads');
  renameSync(payloads, `${payloads}-moved`);
  await expect(registerLarge('meanwhile', 100_001)).rejects.toThrow('UNAVAILABLE');
  expect(existsSync(payloads)).toBe(false);
  await registerLarge('small', 1);
  renameSync(`${payloads}-moved`, payloads);
  await untilCheck(server.ready.http, 'data', 'well');
  await registerLarge('after', 100_002);
  for (const name of ['before', 'small', 'after']) await read(name);
});
