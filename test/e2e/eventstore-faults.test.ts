import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binaryEvent, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as Node,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type ExecutionId, nodeReport, workflowReport } from '../support/requests/reports.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const streamOf = ({ project, domain, name }: ExecutionId): string => `execution-${project}:${domain}:${name}`;

describe('a control plane to whose log another program has written', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-hands-'));
  let log: LogServer;
  let server: ServerProcess;
  let api: Transport;
  let operator: EventStoreDBClient;

  beforeAll(async () => {
    log = await startLogServer(join(directory, 'log'));
    const url = `esdb://${log.address}?tls=false`;
    server = await startServerProcess({
      data: join(directory, 'plane'),
      args: ['--event-store', url, '--eventstore-mode', 'write'],
      env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' },
    });
    api = overGrpc(server.ready);
    operator = EventStoreDBClient.connectionString(url);
    await register(api, withNeeds('01-hello'));
  });
  afterAll(async () => {
    api.close();
    await operator.dispose();
    await server.stop();
    await log.stop();
    rmSync(directory, { recursive: true });
  });

  const reportRunning = (id: ExecutionId) =>
    api.attempt(method.createNodeEvent, nodeReport(id, 'n0', { phase: Node.RUNNING }));

  /** Expects that other executions can be launched, reported and read as usual. */
  const expectOthersGoOn = async (): Promise<void> => {
    const id = await launchHello(api, `other-${randomUUID().slice(0, 8)}`);
    await api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
    const seen = await until(
      async () => (await api.call(method.getExecution, { id })).closure!.phase,
      (phase) => phase === Phase.RUNNING,
    );
    expect(seen).toBe(Phase.RUNNING);
  };

  const metadata = { recordedAtMs: 1, actor: 'somebody', commandId: 'theirs', schema: 1 };

  it.each([
    ['an event of a type that it does not know', 'unknown', 'FromTheFuture', new Uint8Array([1, 2, 3])],
    [
      'an event whose bytes are not of its type',
      'corrupt',
      'WorkflowPhaseReported',
      new Uint8Array([0xff, 0xff, 0xff]),
    ],
  ])('answers UNAVAILABLE for an execution with %s, and serves all others', async (_, name, type, data) => {
    const id = await launchHello(api, name);
    await operator.appendToStream(
      streamOf(id),
      binaryEvent({ type, data, metadata: Buffer.from(JSON.stringify(metadata)) }),
    );
    const answer = await until(
      () => reportRunning(id),
      (each) => each.code !== 'OK' && each.code !== 'ALREADY_EXISTS',
    );
    expect(answer).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(streamOf(id)) as string });
    await expectOthersGoOn();
    expect((await reportRunning(id)).code).toBe('UNAVAILABLE');
  });

  it('answers INTERNAL for an execution whose stream was deleted, and serves all others', async () => {
    const id = await launchHello(api, 'deleted');
    await operator.tombstoneStream(streamOf(id));
    expect((await reportRunning(id)).code).toBe('INTERNAL');
    await expectOthersGoOn();
    expect(server.child.exitCode).toBe(null);
  });

  it.each(['single', 'batch'])(
    'answers appends to a deleted stream, and reads of it, as an EventStoreDB does: %s',
    async (kind) => {
      const client = EventStoreDBClient.connectionString(`esdb://${server.ready.eventstore}?tls=false`);
      const stream = `theirs-${randomUUID()}`;
      // The client appends by the RPC for a single append when the call has credentials of its own.
      const options = kind === 'single' ? { credentials: { username: 'somebody', password: 'theirs' } } : {};
      const append = (expectedRevision: 'any' | 'stream_exists') =>
        client.appendToStream(stream, jsonEvent({ type: 'Said', data: {} }), { expectedRevision, ...options });
      await append('any');
      await operator.tombstoneStream(stream);
      const deleted = { type: 'stream-deleted', streamName: stream };
      await expect(append('any')).rejects.toMatchObject(deleted);
      await expect(append('stream_exists')).rejects.toMatchObject(deleted);
      const read = async () => {
        for await (const _ of client.readStream(stream)) expect.unreachable('an event');
      };
      await expect(read()).rejects.toMatchObject(deleted);
      expect(server.log()).not.toContain('a call of the EventStoreDB protocol has failed');
      await client.dispose();
    },
  );
});

describe('payloads in files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-files-'));
  let log: LogServer;

  beforeAll(async () => {
    log = await startLogServer(join(directory, 'log'));
  });
  afterAll(async () => {
    await log.stop();
    rmSync(directory, { recursive: true });
  });

  /** Starts a server and stops it; returns its log. */
  const logOfStart = async (name: string, eventStore: string): Promise<string> => {
    const server = await startServerProcess({ data: join(directory, name), args: ['--event-store', eventStore] });
    await server.stop();
    return server.log();
  };

  it('cause a warning at the start of a server on an event store, and not on an embedded log', async () => {
    const text = /payloads are in the data directory: processes that do not share it .* need --payload-store/u;
    expect(await logOfStart('shared', `esdb://${log.address}?tls=false`)).toMatch(text);
    expect(await logOfStart('alone', 'embedded:')).not.toMatch(text);
  });
});
