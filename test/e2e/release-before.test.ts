import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NodeExecution_Phase as Node,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { flightlog } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { untilCheck } from '../support/processes/health.js';
import { launchHello } from '../support/requests/hello.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { buildReleaseBefore, isInHistory, type ReleaseBefore } from '../support/processes/release-before.js';
import { type ExecutionId, nodeReport, workflowReport } from '../support/requests/reports.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const LIMIT_MS = 120_000;

/** A process on the shared log, and the transport to it. */
type Member = { readonly server: ServerProcess; readonly api: Transport };

describe.skipIf(!isInHistory())('the previous release beside this one, on one log', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-releases-'));
  let release: ReleaseBefore;
  let log: LogServer;
  let old: Member;
  let current: Member;

  const startMember = async (name: string, binary?: string): Promise<Member> => {
    const server = await startServerProcess({
      data: join(directory, name),
      args: ['--event-store', `esdb://${log.address}?tls=false`],
      env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' },
      ...(binary !== undefined && { binary }),
    });
    return { server, api: overGrpc(server.ready) };
  };

  beforeAll(async () => {
    release = buildReleaseBefore();
    log = await startLogServer(join(directory, 'log'));
    old = await startMember('old', release.binary);
    current = await startMember('current');
    await register(old.api, withNeeds('01-hello'));
  }, LIMIT_MS);

  afterAll(async () => {
    for (const { server, api } of [old, current]) {
      api.close();
      await server.kill();
    }
    await log.kill();
    release.remove();
    rmSync(directory, { recursive: true });
  });

  /** The types of the events of an execution, in order. */
  const typesOf = async ({ name }: ExecutionId): Promise<readonly string[]> => {
    const reader = await sqliteLogReader({ directory: join(directory, 'log') });
    const types: string[] = [];
    for await (const { events } of reader.readLog({ after: 0n, filter: { categories: ['execution'] } }))
      types.push(...events.filter(({ stream }) => stream.endsWith(`:${name}`)).map(({ type }) => type));
    await reader.close();
    return types;
  };

  /** Waits until a process shows an execution in a phase. */
  const untilShown = (api: Transport, id: ExecutionId, phase: Phase) =>
    until(
      async () => (await api.call(method.getExecution, { id })).closure!.phase,
      (seen) => seen === phase,
    );

  const logFormat = async (...args: readonly string[]): Promise<unknown> => {
    const place = ['--data', join(directory, 'command'), '--event-store', `esdb://${log.address}?tls=false`];
    const { stdout, stderr, code } = await flightlog(['log', 'format', ...place, ...args]).ended;
    return code === 0 ? JSON.parse(stdout) : stderr;
  };

  it(
    'writes and reads what this one does, until the log is switched to the newer format',
    async () => {
      expect(await logFormat()).toEqual({ format: 1, newest: 2 });
      const id = await launchHello(current.api, 'before-the-switch');
      await old.api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
      await current.api.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: Node.RUNNING }));
      await old.api.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: Node.SUCCEEDED }));
      await current.api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED }));
      for (const { api } of [old, current]) expect(await untilShown(api, id, Phase.SUCCEEDED)).toBe(Phase.SUCCEEDED);
      expect([...new Set(await typesOf(id))]).toEqual(['ExecutionCreated', 'EngineReported']);
    },
    LIMIT_MS,
  );

  it(
    'parks executions in the newer format once the log is switched, and continues others, which this one reads',
    async () => {
      const open = await launchHello(old.api, 'over-the-switch');
      await old.api.call(method.createWorkflowEvent, workflowReport(open, { phase: Phase.QUEUED }));
      expect(await logFormat('--to', '3')).toContain('--to: this release writes the formats 1 to 2, not 3');
      expect(await logFormat('--to', '2')).toEqual({ format: 2, newest: 2 });
      expect(await logFormat('--to', '1')).toContain('already');

      // This release follows the switch while it serves.
      const followed = await until(
        async () => {
          const id = await launchHello(current.api, `switched-${performance.now().toFixed()}`);
          await current.api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
          return { id, types: await typesOf(id) };
        },
        ({ types }) => types.includes('WorkflowPhaseReported'),
      );
      await current.api.call(method.createWorkflowEvent, workflowReport(open, { phase: Phase.RUNNING }));
      expect(await untilShown(current.api, open, Phase.RUNNING)).toBe(Phase.RUNNING);

      // The old release cannot read executions in the newer format, and refuses.
      const late = await old.api.attempt(
        method.createWorkflowEvent,
        workflowReport(followed.id, { phase: Phase.SUCCEEDED }),
      );
      expect(late.code).toBe('UNAVAILABLE');
      const { checks } = await untilCheck(old.server.ready.http, 'parked', 'degraded');
      expect(checks['parked']?.why).toContain(followed.id.name);

      // Executions of the old release continue, and this release reads them.
      const own = await launchHello(old.api, 'of-the-old-one');
      await old.api.call(method.createWorkflowEvent, workflowReport(own, { phase: Phase.RUNNING }));
      for (const { api } of [old, current]) expect(await untilShown(api, own, Phase.RUNNING)).toBe(Phase.RUNNING);
      expect(await typesOf(own)).toEqual(['ExecutionCreated', 'EngineReported']);
      expect(old.server.child.exitCode).toBeNull();
    },
    LIMIT_MS,
  );
});
