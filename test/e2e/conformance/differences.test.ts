import { clone, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import {
  type ExecutionId,
  HELLO_TASK,
  nodeReport,
  second,
  taskReport,
  workflowReport,
} from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

let plane: ControlPlane;
let ended: ExecutionId;

const outputs = (text: string): MessageInitShape<typeof LiteralMapSchema> => ({ literals: { o0: literal(text) } });
const inline = (text: string) => ({ outputResult: { case: 'outputData' as const, value: outputs(text) } });

/** Reports the run and the end of an execution, its node and its task, with outputs in the events. */
const end = async ({ call }: Transport, id: ExecutionId): Promise<void> => {
  // Later than the creation of any execution of these tests.
  const at = (count: number) => ({ occurredAt: second(400_000_000 + count) });
  await call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING, ...at(1) }));
  await call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING, ...at(2) }));
  await call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED, ...at(3), ...inline('task') }));
  await call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED, ...at(4), ...inline('node') }));
  await call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED, ...at(5), ...inline('run') }));
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  ended = await launchHello(plane.grpc, 'ended');
  await launchHello(plane.grpc, 'not-started');
  await end(plane.grpc, ended);
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('flightlog, where it differs from FlyteAdmin, over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  it('answers the outputs of an event in Get and in GetData, and in no list', async () => {
    const { call } = transport;
    const nodeId = { executionId: ended, nodeId: 'n0' };
    const taskId = { nodeExecutionId: nodeId, taskId: HELLO_TASK };
    const got = [
      (await call(method.getExecution, { id: ended })).closure,
      (await call(method.getNodeExecution, { id: nodeId })).closure,
      (await call(method.getTaskExecution, { id: taskId })).closure,
    ];
    expect(got.map((closure) => closure!.outputResult)).toMatchObject(
      ['run', 'node', 'task'].map((text) => inline(text).outputResult),
    );
    const { executions } = await call(method.listExecutions, { id: PLACE, filters: 'eq(execution_name,ended)' });
    const { nodeExecutions } = await call(method.listNodeExecutions, { workflowExecutionId: ended });
    const { taskExecutions } = await call(method.listTaskExecutions, { nodeExecutionId: nodeId });
    const listed = [...executions, ...nodeExecutions, ...taskExecutions];
    expect(listed.map(({ closure }) => closure!.outputResult.case)).toEqual([undefined, undefined, undefined]);
    const data = [
      await call(method.getExecutionData, { id: ended }),
      await call(method.getNodeExecutionData, { id: nodeId }),
      await call(method.getTaskExecutionData, { id: taskId }),
    ];
    expect(data.map(({ fullOutputs }) => fullOutputs)).toMatchObject(['run', 'node', 'task'].map(outputs));
  });

  it('refuses a workflow with two nodes of one id', async () => {
    const { bytes } = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'workflow')!;
    const request = clone(WorkflowCreateRequestSchema, fromBinary(WorkflowCreateRequestSchema, bytes));
    request.id!.version = `twice-${way}`;
    const { nodes } = request.spec!.template!;
    nodes.push(nodes.at(-1)!);
    const answer = await plane.unchanged(() => transport.attempt(method.createWorkflow, request));
    expect(answer).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('DuplicateId') as string,
    });
  });

  it('finds by duration only executions that have one', async () => {
    const found = async (filters: string): Promise<readonly string[]> =>
      (await transport.call(method.listExecutions, { id: PLACE, filters })).executions.map(({ id }) => id!.name);
    expect(await found('gte(duration,0s)')).toEqual(['ended']);
    expect(await found('lt(duration,1h)')).toEqual(['ended']);
  });

  it('makes no signal for an execution that is not there', async () => {
    const request = {
      id: { signalId: 'gate', executionId: { ...PLACE, name: 'unknown' } },
      type: { type: { case: 'simple' as const, value: SimpleType.BOOLEAN } },
    };
    const refused = () => transport.attempt(SignalService.method.getOrCreateSignal, request);
    expect((await plane.unchanged(refused)).code).toBe('NOT_FOUND');
  });

  it('names the details of errors in the package of the caller, over REST always in platformidl', async () => {
    const { details } = await transport.attempt(method.terminateExecution, { id: ended });
    const callersPackage = way === 'rest' ? 'platformidl' : transport.callersPackage;
    expect(details.map(({ typeUrl }) => typeUrl)).toEqual([
      `type.googleapis.com/${callersPackage}.admin.EventFailureReason`,
    ]);
  });
});

it('flightlog describes its REST interface as OpenAPI 3.1, at the path of FlyteAdmin too', async () => {
  type Document = { readonly servers: readonly [{ readonly url: string }] };
  const { http } = plane.server().ready;
  const [known, own] = await Promise.all(
    ['/api/v1/openapi', '/openapi.json'].map(async (path) => {
      const { servers, ...described } = (await (await fetch(http + path)).json()) as Document;
      return { ...described, server: new URL(servers[0].url, http + path).href }; // relative to the document
    }),
  );
  expect(known).toMatchObject({ openapi: '3.1.0', server: `${http}/` });
  expect(known).toEqual(own);
});
