import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import type { NodeExecutionForTaskListRequestSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { allPages } from '../../support/clients/lists.js';
import { type ExecutionId, HELLO_TASK, nodeReport, second, taskReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

type Request = Partial<
  Exclude<MessageInitShape<typeof NodeExecutionForTaskListRequestSchema>, { readonly $typeName: string }>
>;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('the nodes that a task has made, over %s', (way) => {
  let transport: Transport;
  let execution: ExecutionId;

  /** The id of an attempt of the task of node `n0`. */
  const attempt = (retryAttempt: number) => ({
    taskId: HELLO_TASK,
    nodeExecutionId: { executionId: execution, nodeId: 'n0' },
    retryAttempt,
  });
  /** Reports a node that an attempt has made, as QUEUED `at` seconds after a fixed start. */
  const child = async (nodeId: string, retryAttempt: number, at: number, more = {}): Promise<void> => {
    const parentTaskMetadata = { id: attempt(retryAttempt) };
    const event = { phase: NodePhase.QUEUED, occurredAt: second(at), parentTaskMetadata, ...more };
    await transport.call(method.createNodeEvent, nodeReport(execution, nodeId, event));
  };

  beforeAll(async () => {
    transport = plane[way];
    execution = await launchHello(transport, `made-${way}`);
    await transport.call(method.createNodeEvent, nodeReport(execution, 'n0', { phase: NodePhase.RUNNING }));
    for (const retryAttempt of [0, 1]) {
      const report = taskReport(execution, 'n0', { phase: TaskPhase.RUNNING, retryAttempt });
      await transport.call(method.createTaskEvent, report);
    }
    await child('dn0', 0, 21);
    await child('dn2', 0, 20);
    await child('dn1', 0, 22, { parentNodeMetadata: { nodeId: 'n0' } });
    await child('made-by-retry', 1, 23);
  });

  const page = (request: Request = {}) =>
    transport.call(method.listNodeExecutionsForTask, { taskExecutionId: attempt(0), ...request });
  const ids = async (request: Request = {}): Promise<readonly string[]> =>
    (await page(request)).nodeExecutions.map(({ id }) => id!.nodeId);

  it('are those of one attempt, in the order of the times at which they were queued', async () => {
    expect(await ids()).toEqual(['dn2', 'dn0', 'dn1']);
    expect(await ids({ taskExecutionId: attempt(1) })).toEqual(['made-by-retry']);
  });

  it('are below a node too when their report names it as parent', async () => {
    const request = { workflowExecutionId: execution, uniqueParentId: 'n0' };
    const { nodeExecutions } = await transport.call(method.listNodeExecutions, request);
    expect(nodeExecutions.map(({ id }) => id!.nodeId)).toEqual(['dn1']);
  });

  it('are not at the root of the execution, and make their attempt a parent', async () => {
    const { nodeExecutions } = await transport.call(method.listNodeExecutions, { workflowExecutionId: execution });
    expect(nodeExecutions.map(({ id }) => id!.nodeId)).toEqual(['n0']);
    expect((await transport.call(method.getTaskExecution, { id: attempt(0) })).isParent).toBe(true);
  });

  it.each<[string, Request, readonly string[]]>([
    ['a phase', { filters: 'eq(phase,QUEUED)' }, ['dn2', 'dn0', 'dn1']],
    ['another phase', { filters: 'eq(phase,RUNNING)' }, []],
    ['an id', { filters: 'eq(node_id,dn0)' }, ['dn0']],
    ['an order', { sortBy: { key: 'node_id', direction: Direction.ASCENDING } }, ['dn0', 'dn1', 'dn2']],
    ['a descending order', { sortBy: { key: 'created_at', direction: Direction.DESCENDING } }, ['dn1', 'dn0', 'dn2']],
    ['an offset', { token: '1' }, ['dn0', 'dn1']],
  ])('are listed by %s', async (_what, request, expected) => {
    expect(await ids(request)).toEqual(expected);
  });

  it('come in pages', async () => {
    const found = await allPages(async (token) => {
      const { nodeExecutions, token: next } = await page({ limit: 1, token });
      return { elements: nodeExecutions.map(({ id }) => id!.nodeId), token: next };
    });
    expect(found).toEqual(['dn2', 'dn0', 'dn1']);
  });

  it.each<[string, () => Request, string, string]>([
    ['an attempt that does not exist', () => ({ taskExecutionId: attempt(7) }), 'NOT_FOUND', 'task execution'],
    ['an unknown column', () => ({ filters: 'eq(colour,x)' }), 'INVALID_ARGUMENT', "'ne.colour' is invalid filter"],
    ['an unknown sort key', () => ({ sortBy: { key: 'colour' } }), 'INVALID_ARGUMENT', "invalid sort key 'colour'"],
    ['an invalid token', () => ({ token: 'x' }), 'INVALID_ARGUMENT', 'ListNodeExecutionsForTask'],
  ])('are not listed for %s', async (_what, change, code, text) => {
    const request = { taskExecutionId: attempt(0), ...change() };
    const answer = await transport.attempt(method.listNodeExecutionsForTask, request);
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });
});

it.each<[string, Request, string]>([
  ['no identifier', {}, 'missing id'],
  ['no node', { taskExecutionId: { taskId: HELLO_TASK } }, 'missing node_execution_id'],
  [
    'no execution',
    { taskExecutionId: { taskId: HELLO_TASK, nodeExecutionId: { nodeId: 'n0' } } },
    'missing node_execution_id.execution_id',
  ],
])('nodes of a task are not listed with %s', async (_what, request, text) => {
  const answer = await plane.grpc.attempt(method.listNodeExecutionsForTask, request);
  expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
});
