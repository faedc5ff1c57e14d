import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeExecutionEventRequestSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import { NodeExecution_Phase, WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { streamName } from '../../services/kernel/stream.js';
import { fixtureFolder } from '../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/clients/grpc-client.js';
import { allPages } from '../support/clients/lists.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { openTestLog } from '../support/processes/test-log.js';
import { until } from '../support/until.js';

/** More than the documents that the views write at once. */
const NODES = 5_000;
/** Reports that are sent at once. */
const AT_ONCE = 200;
/** Nodes in a page of a list. */
const PAGE = 1_000;
/** The longest wait until a slow read store has projected all nodes. */
const VIEWS_MS = 100_000;
const EVENT = '/flyteidl.service.AdminService/CreateNodeEvent';
const id = { project: 'flytesnacks', domain: 'development', name: 'hello-defaults' };

describe(`an execution that ends with ${NODES} open nodes`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-open-nodes-'));
  let server: ServerProcess;
  let client: GrpcClient;

  const start = async (env: Readonly<Record<string, string>> = {}): Promise<void> => {
    server = await startServerProcess({ data: directory, env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...env } });
    client = grpcClient(server.ready.grpc);
  };

  /** The number of nodes in each phase, as a list shows them. */
  const phases = async (): Promise<Map<NodeExecution_Phase, number>> => {
    const nodes = await allPages(async (token) => {
      const request = { workflowExecutionId: id, limit: PAGE, token };
      const page = await client.call(AdminService.method.listNodeExecutions, request);
      return { elements: page.nodeExecutions, token: page.token };
    });
    const counts = new Map<NodeExecution_Phase, number>();
    for (const { closure } of nodes) counts.set(closure!.phase, (counts.get(closure!.phase) ?? 0) + 1);
    return counts;
  };

  const eventsOfStream = async (): Promise<number> => {
    const log = await openTestLog(directory);
    let count = 0;
    for await (const page of log.readStream(streamName('execution', [id.project, id.domain, id.name])))
      count += page.length;
    await log.close();
    return count;
  };

  const runningReport = (index: number): Uint8Array =>
    toBinary(
      NodeExecutionEventRequestSchema,
      create(NodeExecutionEventRequestSchema, {
        event: {
          id: { nodeId: `n${index}`, executionId: id },
          phase: NodeExecution_Phase.RUNNING,
          occurredAt: timestampFromMs(Date.UTC(2026, 0, 1) + index),
          specNodeId: `n${index}`,
        },
      }),
    );

  beforeAll(async () => {
    await start();
    for (const { service, method, bytes, path } of fixtureFolder('01-hello').entries) {
      if (path.includes('execute') && !path.includes('execute-01')) continue; // launches one execution alone
      expect((await client.raw(`/flyteidl.service.${service}/${method}`, bytes)).code).toBe('OK');
    }
    for (let first = 0; first < NODES; first += AT_ONCE) {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => client.raw(EVENT, runningReport(first + index))),
      );
      expect(answers.every(({ code }) => code === 'OK')).toBe(true);
    }
    // Otherwise the process that is killed while it writes the end would first have to write the earlier events.
    await until(phases, (counts) => counts.get(NodeExecution_Phase.RUNNING) === NODES, VIEWS_MS);
    client.close();
    await server.stop();
  });

  afterAll(async () => {
    client.close();
    await server.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has them all ABORTED by one event, though the process is killed while the views take it', async () => {
    await start({ FLIGHTLOG_FAIL_POINT: 'inside-checkpoint:3' });
    expect(await phases()).toEqual(new Map([[NodeExecution_Phase.RUNNING, NODES]]));
    const before = await eventsOfStream();
    const event = { executionId: id, phase: WorkflowExecution_Phase.FAILED, occurredAt: timestampFromMs(Date.now()) };
    await client.call(AdminService.method.createWorkflowEvent, { event });
    if (server.child.signalCode === null) await new Promise((resolve) => server.child.once('exit', resolve));
    expect(server.child.signalCode).toBe('SIGKILL');
    expect(await eventsOfStream()).toBe(before + 1);

    client.close();
    await start();
    // A process whose views another process may write waits for the views for ten seconds at its start, and then serves
    // even if they are behind.
    await until(phases, (counts) => counts.get(NodeExecution_Phase.ABORTED) === NODES, VIEWS_MS);
    expect(await phases()).toEqual(new Map([[NodeExecution_Phase.ABORTED, NODES]]));
    expect(await eventsOfStream()).toBe(before + 1);
  });

  it('accepts one late report of the end of a node, and refuses another', async () => {
    const event = {
      id: { nodeId: 'n7', executionId: id },
      phase: NodeExecution_Phase.SUCCEEDED,
      occurredAt: timestampFromMs(Date.now()),
    };
    await client.call(AdminService.method.createNodeEvent, { event });
    const again = client.call(AdminService.method.createNodeEvent, {
      event: { ...event, phase: NodeExecution_Phase.FAILED },
    });
    await expect(again).rejects.toThrow('FAILED_PRECONDITION');
    const node = await client.call(AdminService.method.getNodeExecution, { id: event.id });
    expect(node.closure?.phase).toBe(NodeExecution_Phase.SUCCEEDED);
  });
});
