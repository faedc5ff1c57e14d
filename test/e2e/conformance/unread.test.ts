import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import {
  NodeExecution_Phase as Phase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as WorkflowPhase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, literal } from '../../support/requests/hello.js';
import {
  type ExecutionId,
  HELLO_TASK,
  nodeReport,
  taskReport,
  workflowReport,
} from '../../support/requests/reports.js';

const { method } = AdminService;

/** Large enough to be stored as a payload beside the log. */
const LARGE = 'x'.repeat(100_000);

/** Ways in which the file of a payload can be lost, by the code of the fault that each causes. */
const LOSSES: Readonly<Record<string, (path: string) => void>> = {
  'corrupt-payload': (path) => writeFileSync(path, 'other content'),
  'store-unavailable': (path) => {
    rmSync(path);
    mkdirSync(path);
  },
};
/** Each loss, with the status of a call whose whole answer is the payload. */
const losses = Object.keys(LOSSES).map(
  (name) => [name, name === 'corrupt-payload' ? 'INTERNAL' : 'UNAVAILABLE'] as const,
);

let plane: ControlPlane;
let launched = 0;

/** The paths of the files with the payloads of an execution. */
const objectsOf = ({ project, domain, name }: ExecutionId): string[] =>
  objectsIn(join(plane.directory, 'payloads', 'runs', project, domain, name));

const objectsIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const launch = async (input: string): Promise<ExecutionId> => {
  const request = helloRequest(`unread-${(launched += 1)}`, ({ inputs }) => {
    inputs!.literals['name'] = create(LiteralSchema, literal(input));
  });
  return (await plane.grpc.call(method.createExecution, request)).id!;
};

/** Literals with one value, named `o0`. */
const map = (text: string) => ({ literals: { o0: literal(text) } });
const inputs = (text: string) => ({ inputValue: { case: 'inputData', value: map(text) } }) as const;
const outputs = (text: string) => ({ outputResult: { case: 'outputData', value: map(text) } }) as const;

/** Damages the files of an execution's payloads. */
const damage = (run: ExecutionId, loss: string): void => {
  const paths = objectsOf(run);
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths) LOSSES[loss]?.(path);
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/**
 * Sends a request over both transports, and expects the same answer. `unread` is the header `flightlog-unread`: the
 * fields of the answer that are unset because their payload could not be read, each with the code of the fault.
 */
const ask = async <Input extends DescMessage, Output extends DescMessage>(
  rpc: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
) => {
  const [grpc, rest] = [await plane.grpc.attempt(rpc, request), await plane.rest.attempt(rpc, request)];
  expect(rest).toMatchObject({ code: grpc.code, unread: grpc.unread });
  expect(fromBinary(rpc.output, rest.bytes)).toEqual(fromBinary(rpc.output, grpc.bytes));
  return { code: grpc.code, unread: grpc.unread, answer: fromBinary(rpc.output, grpc.bytes) };
};

/** Asks for the data at a Flyte URL; `rest` is what follows the execution, such as `n0/o` for the outputs of `n0`. */
const getData = (run: ExecutionId, rest: string) =>
  ask(DataProxyService.method.getData, { flyteUrl: `flyte://v1/${run.project}/${run.domain}/${run.name}/${rest}` });

describe.each(losses)('a payload that is lost as %s', (loss, status) => {
  it('leaves the inputs of an execution unset, and its outputs as they are', async () => {
    const id = await launch(LARGE);
    const report = workflowReport(id, { phase: WorkflowPhase.SUCCEEDED, ...outputs('small') });
    await plane.grpc.call(method.createWorkflowEvent, report);
    const whole = await ask(method.getExecutionData, { id });
    expect(whole).toMatchObject({ code: 'OK', unread: undefined });
    expect(whole.answer.fullInputs).toBeDefined();
    damage(id, loss);
    const { code, unread, answer } = await ask(method.getExecutionData, { id });
    expect({ code, unread }).toEqual({ code: 'OK', unread: `full_inputs=${loss}` });
    expect(answer.fullInputs).toBeUndefined();
    expect(answer.fullOutputs).toMatchObject(map('small'));
  });

  it('leaves the outputs and the dynamic workflow of a node unset, and its inputs as they are', async () => {
    const executionId = await launch('small');
    const id = { executionId, nodeId: 'n0' };
    const template = { ...HELLO_TASK, resourceType: ResourceType.WORKFLOW };
    const dynamicWorkflow = { id: template, compiledWorkflow: { primary: { template: { id: template } } } };
    const send = (event: Parameters<typeof nodeReport>[2]) =>
      plane.grpc.call(method.createNodeEvent, nodeReport(executionId, 'n0', event));
    await send({ phase: Phase.QUEUED, ...inputs('small') });
    await send({
      phase: Phase.SUCCEEDED,
      ...outputs(LARGE),
      targetMetadata: { case: 'taskNodeMetadata', value: { dynamicWorkflow } },
    });
    expect((await ask(method.getNodeExecutionData, { id })).answer).toMatchObject({ dynamicWorkflow });
    damage(executionId, loss);
    const { code, unread, answer } = await ask(method.getNodeExecutionData, { id });
    expect({ code, unread }).toEqual({ code: 'OK', unread: `dynamic_workflow=${loss}, full_outputs=${loss}` });
    expect(answer.fullInputs).toMatchObject(map('small'));
    expect(answer).not.toHaveProperty('fullOutputs');
    expect(answer).not.toHaveProperty('dynamicWorkflow');
    expect(await getData(executionId, 'n0/i')).toMatchObject({ code: 'OK', unread: undefined });
    expect(await getData(executionId, 'n0/o')).toMatchObject({ code: status });
    expect(await getData(executionId, 'n0/o/o0')).toMatchObject({ code: status });
    expect(await ask(method.getDynamicNodeWorkflow, { id })).toMatchObject({ code: status });
  });

  it('leaves the inputs and outputs of an attempt of a task unset, and its logs as they are', async () => {
    const executionId = await launch('small');
    const id = { nodeExecutionId: { executionId, nodeId: 'n0' }, taskId: HELLO_TASK, retryAttempt: 0 };
    await plane.grpc.call(method.createNodeEvent, nodeReport(executionId, 'n0', { phase: Phase.RUNNING }));
    const log = { uri: 'https://logs/0', name: 'log' };
    const event = { phase: TaskPhase.SUCCEEDED, logs: [log], ...inputs(LARGE), ...outputs(LARGE) };
    await plane.grpc.call(method.createTaskEvent, taskReport(executionId, 'n0', event));
    expect((await ask(method.getTaskExecutionData, { id })).answer).toMatchObject({ fullInputs: map(LARGE) });
    damage(executionId, loss);
    const { code, unread, answer } = await ask(method.getTaskExecutionData, { id });
    expect({ code, unread }).toEqual({ code: 'OK', unread: `full_inputs=${loss}, full_outputs=${loss}` });
    expect(answer).not.toHaveProperty('fullInputs');
    expect(answer).not.toHaveProperty('fullOutputs');
    expect(answer.logs).toMatchObject([log]);
    expect(await getData(executionId, 'n0/0/i')).toMatchObject({ code: status });
  });
});

describe('a payload of a task that is lost before the views are folded', () => {
  it('makes the task UNAVAILABLE, not NOT_FOUND', async () => {
    const first = await startControlPlane();
    const request = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
    const { target } = request.spec!.template!;
    if (target.case === 'container') target.value.args.push(LARGE);
    await first.grpc.call(method.createTask, request);
    await first.kill();
    for (const path of objectsIn(join(first.directory, 'payloads'))) writeFileSync(path, 'other content');
    for (const name of readdirSync(first.directory)) {
      if (name.startsWith('views.db')) rmSync(join(first.directory, name));
    }
    const second = await startControlPlane({}, first.directory);
    for (const transport of [second.grpc, second.rest]) {
      const { code, message } = await transport.attempt(method.getTask, { id: request.id! });
      expect([code, message]).toEqual(['UNAVAILABLE', expect.stringMatching(/parked stream task-/u)]);
      const absent = await transport.attempt(method.getTask, { id: { ...request.id!, version: 'none' } });
      expect(absent.code).toBe('NOT_FOUND');
    }
    await second.close();
  });
});
