import { create, fromBinary, type DescField, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Literal, LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/clients/grpc-client.js';
import { launchHello, literal } from '../support/requests/hello.js';
import { flightlog } from '../support/processes/command.js';
import { timedAt } from '../support/costs/processor-time.js';
import { PLACE } from '../support/requests/registrations.js';
import { HELLO_TASK, nodeReport, taskReport } from '../support/requests/reports.js';
import { type RestClient, restClient } from '../support/clients/rest-client.js';

const OCTETS = { 'content-type': 'application/octet-stream' };

/** Lists in lists, `depth` deep, as JSON of a map of literals. */
const nestedLiteral = (depth: number): string =>
  `{"literals":{"times":${'{"collection":{"literals":['.repeat(depth)}${']}}'.repeat(depth)}}}`;

let plane: ControlPlane;
let grpc: GrpcClient;
let rest: RestClient;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  grpc = grpcClient(plane.server().ready.grpc);
  rest = restClient(plane.server().ready.http);
});
afterAll(async () => {
  grpc.close();
  await plane.close();
});

describe('an event that is nested two thousand deep is refused within 1 s of processor time', () => {
  const DEPTH = 2_000;
  /** Wraps bytes in a length-delimited field with this number. */
  const within = (field: number, bytes: Uint8Array): Uint8Array =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();
  /** Nests the fields in each other, `DEPTH` times. */
  const levels = (...fields: number[]): Uint8Array => {
    let bytes: Uint8Array = new Uint8Array();
    for (let level = 0; level < DEPTH; level++) for (const field of fields) bytes = within(field, bytes);
    return bytes;
  };
  // A LiteralMap with one entry, whose Literal is a collection (field 2) of literals (field 1), and so on.
  const literals = within(1, Buffer.concat([within(1, Buffer.from('deep')), within(2, levels(1, 2))]));
  // A Struct with one entry, whose Value is a list (field 6) of values (field 1), and so on.
  const struct = within(1, Buffer.concat([within(1, Buffer.from('deep')), within(2, levels(1, 6))]));
  const { createWorkflowEvent, createNodeEvent, createTaskEvent } = AdminService.method;
  const EVENTS = [
    ['workflows', 'output_data', createWorkflowEvent, literals],
    ['nodes', 'output_data', createNodeEvent, literals],
    ['nodes', 'input_data', createNodeEvent, literals],
    ['tasks', 'output_data', createTaskEvent, literals],
    ['tasks', 'custom_info', createTaskEvent, struct],
  ] as const;

  it.each(EVENTS)('as bytes: event of %s, field %s', async (path, name, rpc, deepest) => {
    const [, { number, message }] = rpc.input.fields as [DescField, DescField]; // the second field is the event
    const bytes = within(number, within(message!.fields.find((field) => field.name === name)!.number, deepest));
    const [answers, tookMs] = await timedAt(plane.server().child.pid!, async () => [
      await plane.unchanged(() => grpc.raw(`/platformidl.service.AdminService/${rpc.name}`, bytes)),
      await plane.unchanged(() => rest.request('POST', `/api/v1/events/${path}`, bytes, OCTETS)),
    ]);
    for (const { code, message: text } of answers)
      expect([code, text]).toEqual([
        'INVALID_ARGUMENT',
        expect.stringMatching(`event.${name}.*nested deeper than 100`),
      ]);
    expect(tookMs).toBeLessThan(1_000);
  });

  it.each([
    ['workflows', 'outputData', nestedLiteral(DEPTH)],
    ['tasks', 'outputData', nestedLiteral(DEPTH)],
    ['nodes', 'inputData', nestedLiteral(DEPTH)],
    ['tasks', 'customInfo', `{"x":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`],
  ])('as JSON: event of %s, field %s', async (path, name, deepest) => {
    const ask = () => rest.request('POST', `/api/v1/events/${path}`, `{"event":{"${name}":${deepest}}}`);
    const [answer, tookMs] = await timedAt(plane.server().child.pid!, () => plane.unchanged(ask));
    const { code, message } = answer;
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(`event.${name}.*depth of 100`)]);
    expect(tookMs).toBeLessThan(1_000);
  });
});

it('RPCs answer with the deepest inputs and custom_info that events may have', async () => {
  const id = await launchHello(plane.grpc, 'deepest');
  const nodeId = { executionId: id, nodeId: 'n0' };
  const taskId = { nodeExecutionId: nodeId, taskId: HELLO_TASK, retryAttempt: 0 };
  const { createNodeEvent, createTaskEvent } = AdminService.method;
  /** Maximum number of lists in each other in `custom_info`; one more is refused. */
  const DEEPEST = 48;
  const nested = (depth: number): JsonObject => {
    let list: JsonValue = 'bottom';
    for (let level = 0; level < depth; level++) list = [list];
    return { list };
  };
  let deepest = create(LiteralSchema, literal('bottom'));
  // As deep as allowed, a hundred messages: request, event and map, two for each of 47 lists, and three for the text.
  const inList = (inner: Literal) =>
    create(LiteralSchema, { value: { case: 'collection', value: { literals: [inner] } } });
  for (let level = 0; level < 47; level++) deepest = inList(deepest);
  const running = (inputs: Literal) => {
    const inputValue = { case: 'inputData', value: { literals: { deepest: inputs } } } as const;
    return nodeReport(id, 'n0', { phase: NodePhase.RUNNING, inputValue });
  };
  expect((await plane.grpc.attempt(createNodeEvent, running(inList(deepest)))).code).toBe('INVALID_ARGUMENT');
  await plane.grpc.call(createNodeEvent, running(deepest));
  await plane.grpc.call(
    createTaskEvent,
    taskReport(id, 'n0', { phase: TaskPhase.QUEUED, customInfo: nested(DEEPEST) }),
  );
  await plane.grpc.call(createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.RUNNING, customInfo: { more: 1 } }));
  const tooDeep = taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED, customInfo: nested(DEEPEST + 1) });
  expect((await plane.grpc.attempt(createTaskEvent, tooDeep)).code).toBe('INVALID_ARGUMENT');
  for (const way of [plane.grpc, plane.rest, plane.octets]) {
    const { fullInputs } = await way.call(AdminService.method.getNodeExecutionData, { id: nodeId });
    expect(fullInputs!.literals['deepest']).toEqual(deepest);
    const { closure } = await way.call(AdminService.method.getTaskExecution, { id: taskId });
    expect(closure!.customInfo).toEqual({ ...nested(DEEPEST), more: 1 });
    const { taskExecutions } = await way.call(AdminService.method.listTaskExecutions, { nodeExecutionId: nodeId });
    expect(taskExecutions.map((each) => each.closure!.customInfo)).toEqual([closure!.customInfo]);
  }
});

it('the command line reads, and engines run, a task that is as deep as a request may be', async () => {
  const { createTask, createExecution, getExecution } = AdminService.method;
  const recorded = withNeeds('01-hello').flatMap(({ entries }) => entries);
  const request = fromBinary(createTask.input, recorded.find(({ kind }) => kind === 'task')!.bytes);
  request.id!.name = 'deepest';
  const template = request.spec!.template!;
  template.interface!.inputs = undefined;
  // Nearly a hundred messages: the request, its spec, the template, the struct and a value, and two for each list.
  let list: JsonValue = 'bottom';
  for (let level = 0; level < 47; level++) list = [list];
  template.custom = { list };
  await plane.grpc.call(createTask, request);

  const { grpc: target, http } = plane.server().ready;
  for (const server of [`grpc://${target}`, http]) {
    const args = ['get', 'task', 'deepest', '--server', server, '-p', PLACE.project, '-d', PLACE.domain, '-o', 'json'];
    const { code, stdout, stderr } = await flightlog(args).ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('bottom');
  }
  const launch = { ...PLACE, spec: { launchPlan: request.id! }, inputs: {} };
  for (const options of [{}, { feed: { group: 'default', name: 'simulated' } }]) {
    const { id } = await plane.grpc.call(createExecution, launch);
    await plane.run(options);
    const { closure } = await plane.grpc.call(getExecution, { id: id! });
    expect(closure?.phase).toBe(Phase.SUCCEEDED);
  }
});
