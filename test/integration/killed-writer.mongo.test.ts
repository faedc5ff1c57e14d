import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { untilCheck } from '../support/processes/health.js';
import { helloRequest } from '../support/requests/hello.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { overGrpc } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const SCOPE = { project: 'flytesnacks', domain: 'development' };
/** The time after which MongoDB aborts an abandoned transaction by default. */
const TRANSACTION_MS = 60_000;
const LIMIT_MS = 180_000;

describe.skipIf(mongoUrl === undefined)('a process that is killed while it writes views', () => {
  it(
    'does not keep the next process from writing them within a minute',
    async () => {
      const data = mkdtempSync(join(tmpdir(), 'flightlog-killed-writer-'));
      const location = newMongoLocation();
      const args = ['--read-store', location.url];
      const projects = { FLIGHTLOG_PROJECTS: '["flytesnacks"]' };
      const first = await startServerProcess({ data, args, env: projects });
      const api = overGrpc(first.ready);
      await register(api, withNeeds('01-hello'));
      api.close();
      await first.stop();

      // The process is killed between the writes of a batch and its commit, so the MongoDB server keeps the transaction
      // open.
      const env = { ...projects, FLIGHTLOG_FAIL_POINT: 'inside-checkpoint:1' };
      await expect(startServerProcess({ data, args, env })).rejects.toThrow('SIGKILL');

      const since = performance.now();
      const next = await startServerProcess({ data, args, env: projects });
      expect((await untilCheck(next.ready.http, 'views', 'well')).ready).toBe(true);
      const again = overGrpc(next.ready);
      await again.call(method.createExecution, helloRequest('after-it'));
      const listed = () => again.call(method.listExecutions, { id: SCOPE, limit: 10 });
      await until(listed, ({ executions }) => executions.length === 1);
      expect(performance.now() - since).toBeLessThan(TRANSACTION_MS);
      again.close();
      await next.stop();
      await dropDatabase(location);
      rmSync(data, { recursive: true });
    },
    LIMIT_MS,
  );
});
