import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CompiledWorkflowClosureSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import {
  ExecutionCreateRequestSchema,
  ExecutionMetadata_ExecutionMode as Mode,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { nodesOf, tasksOf } from '../support/clients/lists.js';
import { type ExecutionId, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';

const { method } = AdminService;
const SCOPE = { project: 'flytesnacks', domain: 'development' };
/** An execution of `06-dynamic`. */
const DYNAMIC = { ...SCOPE, name: 'dynamic-defaults' };

/** The recorded launch of `02-diamond`. */
const diamond = fromBinary(ExecutionCreateRequestSchema, fixtureBytes('02-diamond/execute-01.create_request.pb'));
/** An execution of {@link diamond} in which a node has failed, and its nodes that had succeeded before. */
let failed: { readonly id: ExecutionId; readonly succeeded: readonly string[] };

let plane: ControlPlane;

const succeededIn = async (id: ExecutionId): Promise<readonly string[]> =>
  (await nodesOf(plane.grpc, id)).flatMap(({ closure, id: node }) =>
    closure!.phase === NodePhase.SUCCEEDED && node!.nodeId !== 'start-node' ? [node!.nodeId] : [],
  );

/**
 * Launches executions, has an engine fail tasks at random, and finds an execution that has failed after some of its
 * nodes had succeeded.
 */
const someFailed = async (): Promise<typeof failed> => {
  const ids = Array.from({ length: 10 }, (_, at) => ({ ...SCOPE, name: `may-fail-${at}` }));
  for (const { name } of ids) await plane.grpc.call(method.createExecution, { ...diamond, name });
  await plane.run({ failureProbability: 0.3 });
  for (const id of ids) {
    const { closure } = await plane.grpc.call(method.getExecution, { id });
    const succeeded = await succeededIn(id);
    if (closure!.phase === Phase.FAILED && succeeded.length > 0) return { id, succeeded };
  }
  throw new Error('no execution has failed after some of its nodes had succeeded');
};

beforeAll(async () => {
  plane = await startControlPlane();
  const folders = withNeeds('01-hello', '02-diamond', '04-nested', '06-dynamic');
  await register(plane.grpc, folders);
  for (const { kind, method: rpc, bytes } of folders.flatMap(({ entries }) => entries))
    if (kind === 'execution') expect((await plane.grpc.send(rpc, bytes)).code).toBe('OK');
  await plane.run();
  failed = await someFailed();
});
afterAll(() => plane.close());

/** RPCs that read, each with a request. */
const QUESTIONS = [
  [method.getExecution, { id: DYNAMIC }],
  [method.getExecutionData, { id: DYNAMIC }],
  [method.listExecutions, { id: SCOPE, limit: 3 }],
  [method.listNodeExecutions, { workflowExecutionId: DYNAMIC, filters: 'eq(phase,SUCCEEDED)' }],
  [method.getNodeExecution, { id: { executionId: DYNAMIC, nodeId: 'n0' } }],
  [method.getNodeExecutionData, { id: { executionId: DYNAMIC, nodeId: 'n0' } }],
  [method.getDynamicNodeWorkflow, { id: { executionId: DYNAMIC, nodeId: 'n0' } }],
  [method.listTaskExecutions, { nodeExecutionId: { executionId: DYNAMIC, nodeId: 'n0' } }],
  [method.getWorkflow, { id: { ...SCOPE, name: 'typed_diamond.diamond', version: 'v1' } }],
  [method.getLaunchPlan, { id: { ...SCOPE, name: 'typed_diamond.diamond', version: 'v1' } }],
  [method.getTask, { id: { ...SCOPE, name: 'typed_diamond.merge', version: 'v1' } }],
  [method.listTasks, { id: SCOPE }],
  [method.listProjects, {}],
  [method.getVersion, {}],
] as const;

describe('an answer', () => {
  it.each(QUESTIONS.map(([rpc, request]) => [rpc.name, rpc, request] as const))(
    'is the same message over gRPC, under either package name, and over REST in JSON and in bytes: %s',
    async (_name, rpc, request) => {
      const { ready } = plane.server();
      const ways = [plane.grpc, overGrpc(ready, 'platformidl'), plane.rest, plane.octets];
      const answers: unknown[] = [];
      for (const way of ways) answers.push(await way.call<DescMessage, DescMessage>(rpc, request));
      for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0]);
      ways[1]!.close();
    },
  );
});

describe.each(['grpc', 'rest'] as const)('an execution, over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const get = (id: ExecutionId) => transport.call(method.getExecution, { id });
  const dataOf = (id: ExecutionId) => transport.call(method.getExecutionData, { id });

  it('shows the nodes of a workflow, and those inside its parent nodes', async () => {
    const id = { ...SCOPE, name: 'outer-defaults' };
    const { nodeExecutions: roots } = await transport.call(method.listNodeExecutions, { workflowExecutionId: id });
    const ids = roots.map((node) => node.id!.nodeId);
    expect(ids).toEqual(expect.arrayContaining(['start-node', 'end-node', 'n0']));
    const parents = roots.filter(({ metadata }) => metadata!.isParentNode);
    expect(parents.length).toBe(2);
    for (const parent of parents) {
      const request = { workflowExecutionId: id, uniqueParentId: parent.id!.nodeId };
      const { nodeExecutions: children } = await transport.call(method.listNodeExecutions, request);
      expect(children.map(({ metadata }) => metadata!.specNodeId)).toEqual(
        expect.arrayContaining(['start-node', 'end-node', 'n0']),
      );
      expect(children.filter((child) => ids.includes(child.id!.nodeId))).toEqual([]);
    }
    const all = await nodesOf(transport, id);
    expect(all.length).toBeGreaterThan(roots.length);
    expect(new Set(all.map((node) => node.id!.nodeId)).size).toBe(all.length);
  });

  it('shows inputs and outputs of the execution, its nodes and its tasks, and the logs of a task', async () => {
    const id = { ...SCOPE, name: 'hello-twice' };
    const whole = await dataOf(id);
    const nodeId = { executionId: id, nodeId: 'n0' };
    const node = await transport.call(method.getNodeExecutionData, { id: nodeId });
    const [task] = await tasksOf(transport, nodeId);
    const attempt = await transport.call(method.getTaskExecutionData, { id: task!.id! });
    for (const { fullInputs } of [whole, node, attempt])
      expect(Object.keys(fullInputs!.literals).sort()).toEqual(['name', 'times']);
    expect(node.fullInputs).toEqual(attempt.fullInputs);
    expect(attempt.fullOutputs).toEqual(node.fullOutputs);
    expect(Object.keys(node.fullOutputs!.literals)).toEqual(['o0']);
    expect(whole.fullOutputs!.literals['o0']).toEqual(node.fullOutputs!.literals['o0']);
    const base = 'flyte://v1/flytesnacks/development/hello-twice/n0';
    expect(node.flyteUrls).toMatchObject({ inputs: `${base}/i`, outputs: `${base}/o` });
    expect(attempt.flyteUrls).toMatchObject({ inputs: `${base}/0/i`, outputs: `${base}/0/o` });
    expect(attempt.logs.length).toBeGreaterThan(0);
  });

  it('shows the graph that a dynamic node made, and none for a node that is not dynamic', async () => {
    const nodes = await nodesOf(transport, DYNAMIC);
    const dynamic = nodes.filter(({ metadata }) => metadata!.isDynamic);
    expect(dynamic.length).toBeGreaterThan(1);
    const made = ['fan-out', 'inner-fan'].map((name) =>
      fromBinary(
        CompiledWorkflowClosureSchema,
        fixtureBytes(`06-dynamic/dynamic/${name}.compiled_workflow_closure.pb`),
      ),
    );
    for (const { id } of dynamic) {
      const { compiledWorkflow } = await transport.call(method.getDynamicNodeWorkflow, { id: id! });
      expect(made).toContainEqual(compiledWorkflow);
      const { dynamicWorkflow } = await transport.call(method.getNodeExecutionData, { id: id! });
      expect(dynamicWorkflow!.compiledWorkflow).toEqual(compiledWorkflow);
      expect(dynamicWorkflow!.id).toEqual(compiledWorkflow!.primary!.template!.id);
    }
    const [other] = nodes.filter(({ metadata }) => !metadata!.isDynamic);
    expect(await transport.attempt(method.getDynamicNodeWorkflow, { id: other!.id! })).toMatchObject({
      code: 'NOT_FOUND',
      message: 'node does not contain dynamic workflow',
    });
  });

  it('runs again as it was when it is relaunched', async () => {
    const original = { ...SCOPE, name: 'diamond-uploaded-data' };
    const request = { id: original, name: `relaunched-over-${way}`, overwriteCache: true };
    const { id } = await transport.call(method.relaunchExecution, request);
    expect(id!.name).toBe(request.name);
    const [before, after] = [await get(original), await get(id!)];
    expect(after.spec!.metadata).toMatchObject({ mode: Mode.RELAUNCH, referenceExecution: original });
    expect(after.spec!.overwriteCache).toBe(true);
    expect(after.spec!.launchPlan).toEqual(before.spec!.launchPlan);
    expect(after.closure!.workflowId).toEqual(before.closure!.workflowId);
    expect(Phase[after.closure!.phase]).toBe('QUEUED');
    expect((await dataOf(id!)).fullInputs).toEqual((await dataOf(original)).fullInputs);
    // An execution that has not ended may be relaunched too; a relaunch without a name gets a generated one.
    const { id: nameless } = await transport.call(method.relaunchExecution, { id: id! });
    expect(nameless!.name).toMatch(/^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u);
    expect(await transport.attempt(method.relaunchExecution, request)).toMatchObject({ code: 'ALREADY_EXISTS' });
    await plane.run();
    for (const each of [id!, nameless!]) expect(Phase[(await get(each)).closure!.phase]).toBe('SUCCEEDED');
  });

  it('runs from the failed node on when it is recovered', async () => {
    const original = await get(failed.id);
    expect(original.closure!.outputResult.case).toBe('error');
    const request = { id: failed.id, name: `recovered-over-${way}` };
    const { id } = await transport.call(method.recoverExecution, request);
    const recovering = await get(id!);
    expect(recovering.spec!.metadata).toMatchObject({ mode: Mode.RECOVERED, referenceExecution: failed.id });
    expect(recovering.closure!.workflowId).toEqual(original.closure!.workflowId);
    expect((await dataOf(id!)).fullInputs).toEqual((await dataOf(failed.id)).fullInputs);
    await plane.run();
    expect(Phase[(await get(id!)).closure!.phase]).toBe('SUCCEEDED');
    const recovered = (await nodesOf(transport, id!)).flatMap(({ closure, id: node }) =>
      closure!.phase === NodePhase.RECOVERED ? [node!.nodeId] : [],
    );
    expect(recovered).toEqual(expect.arrayContaining([...failed.succeeded]));
  });

  it('has filters for the nodes and tasks that were open when it succeeded', async () => {
    const id = { ...SCOPE, name: `left-open-over-${way}` };
    await transport.call(method.createExecution, helloRequest(id.name));
    await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
    await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED }));
    await transport.call(method.createNodeEvent, nodeReport(id, 'n1', { phase: NodePhase.RUNNING }));
    await transport.call(method.createTaskEvent, taskReport(id, 'n1', { phase: TaskPhase.RUNNING }));
    await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED }));

    const nodes = async (filters: string) => {
      const page = await transport.call(method.listNodeExecutions, { workflowExecutionId: id, filters });
      return page.nodeExecutions.map((node) => `${node.id!.nodeId} ${NodePhase[node.closure!.phase]}`).sort();
    };
    const tasks = async (filters: string) => {
      const nodeExecutionId = { executionId: id, nodeId: 'n1' };
      return (await transport.call(method.listTaskExecutions, { nodeExecutionId, filters })).taskExecutions.length;
    };
    expect(await nodes('')).toEqual(['n0 SUCCEEDED', 'n1 ABORTED']);
    expect(await nodes('ne(closed_by,SUCCEEDED)')).toEqual(['n0 SUCCEEDED']);
    expect(await nodes('eq(closed_by,SUCCEEDED)')).toEqual(['n1 ABORTED']);
    expect([await tasks(''), await tasks('ne(closed_by,SUCCEEDED)')]).toEqual([1, 0]);
  });

  it('is not recovered when it has succeeded or has not ended', async () => {
    const { id: queued } = await transport.call(method.createExecution, helloRequest(`queued-over-${way}`));
    for (const id of [queued!, { ...SCOPE, name: 'hello-twice' }]) {
      const before = await plane.head();
      const { code, message } = await transport.attempt(method.recoverExecution, { id });
      expect([code, message]).toEqual(['FAILED_PRECONDITION', expect.stringMatching(/cannot recover execution/u)]);
      expect(await plane.head()).toBe(before);
    }
  });
});
