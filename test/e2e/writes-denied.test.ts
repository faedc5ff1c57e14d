import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ForgetfulLog, startForgetfulLog } from '../support/proxies/forgetful-log.js';
import { untilCheck } from '../support/processes/health.js';

import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';

const { registerProject } = AdminService.method;

const directory = mkdtempSync(join(tmpdir(), 'flightlog-denied-'));
let log: LogServer;
/** A proxy before the log that can deny writes. */
let node: ForgetfulLog;
let server: ServerProcess;
let api: Transport;

beforeAll(async () => {
  log = await startLogServer(join(directory, 'log'));
  node = await startForgetfulLog(log.address);
  server = await startServerProcess({
    data: join(directory, 'data'),
    args: ['--event-store', `esdb://${node.address}?tls=false`],
  });
  api = overGrpc(server.ready);
});
afterAll(async () => {
  api.close();
  await server.stop();
  await node.close();
  await log.stop();
  rmSync(directory, { recursive: true });
});

it('a process that may not write to its event store any more is not ready, and says why, until it may', async () => {
  await untilCheck(server.ready.http, 'log', 'well');
  node.deny(true);
  const refused = await api.attempt(registerProject, { project: { id: 'denied', name: 'denied' } });
  expect(refused.code).toBe('UNAVAILABLE');
  const { ready, checks } = await untilCheck(server.ready.http, 'log', 'down');
  expect(ready).toBe(false);
  expect(checks['log']?.why).toMatch(/^the event store denies access: access-denied \(/u);
  node.deny(false);
  expect((await untilCheck(server.ready.http, 'log', 'well')).ready).toBe(true);
});
