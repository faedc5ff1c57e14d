import { rmSync } from 'node:fs';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { NamedEntityState } from '../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecutionGetRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanCreateRequestSchema, LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane, type Transports } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { registerTask, registerWorkflow } from '../support/requests/registrations.js';
import { launchHello } from '../support/requests/hello.js';
import { type ExecutionId, HELLO_TASK, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import { type Answer, overGrpc, overRest } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;

/** The view thread stops permanently in its first checkpoint, so the views get none of the test's writes. */
const HELD = { FLIGHTLOG_FAIL_POINT: 'inside-checkpoint:1:hold' };

let plane: ControlPlane;
/**
 * The transports to one process: while its views are held, a process shows of the later events only those that it has
 * acknowledged itself.
 */
let one: Transports;
/** An execution of whose events some are in the views: it runs, with the nodes `n0` and `n1`. */
let open: ExecutionId;

/** The recorded registration of a kind, such as `task`, in `01-hello`. */
const entryOf = <Desc extends DescMessage>(kind: string, schema: Desc) =>
  fromBinary(schema, fixtureFolder('01-hello').entries.find((entry) => entry.kind === kind)!.bytes);

const start = async (env: Readonly<Record<string, string>>, directory: string): Promise<void> => {
  plane = await startControlPlane(env, directory);
  const { ready } = plane.server();
  one = { grpc: overGrpc(ready), rest: overRest(ready) };
};

const kill = async (): Promise<void> => {
  one.grpc.close();
  await plane.kill();
};

beforeAll(async () => {
  const first = await startControlPlane();
  await register(first.grpc, withNeeds('01-hello'));
  open = await launchHello(first.grpc, 'partly-projected');
  await first.grpc.call(method.createWorkflowEvent, workflowReport(open, { phase: Phase.RUNNING }));
  for (const node of ['n0', 'n1'])
    await first.grpc.call(method.createNodeEvent, nodeReport(open, node, { phase: NodePhase.RUNNING }));
  await first.grpc.call(method.createTaskEvent, taskReport(open, 'n0', { phase: TaskPhase.RUNNING }));
  expect((await first.grpc.call(method.getExecution, { id: open })).closure!.phase).toBe(Phase.RUNNING);
  await first.kill();
  await start(HELD, first.directory);
});
afterAll(async () => {
  await kill();
  rmSync(plane.directory, { recursive: true });
});

const getOpen = (headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
  const request = create(WorkflowExecutionGetRequestSchema, { id: open });
  return one.grpc.send('GetExecution', toBinary(WorkflowExecutionGetRequestSchema, request), headers);
};

/** The position of a read now; it does not advance while the views are held. */
const viewPosition = async (): Promise<string> => (await getOpen()).position!;

/** The number in a position token, after the id of the log. */
const positionNumber = (position: string): number => Number(position.split('.').at(-1));

const nodePhase = async (nodeId: string): Promise<NodePhase> =>
  (await one.grpc.call(method.getNodeExecution, { id: { executionId: open, nodeId } })).closure!.phase;

const seconds = (time: Timestamp | undefined): bigint => time!.seconds;

describe('while the views take no events', () => {
  it('an execution that is partly projected is read as the log has it, with nodes, tasks and data', async () => {
    const before = await viewPosition();
    const { grpc, rest } = one;
    await grpc.call(
      method.createNodeEvent,
      nodeReport(open, 'n1', {
        phase: NodePhase.SUCCEEDED,
        outputResult: { case: 'outputData', value: { literals: {} } },
      }),
    );
    const tooEarly = grpc.call(method.createTaskEvent, taskReport(open, 'n2', { phase: TaskPhase.QUEUED }));
    await expect(tooEarly).rejects.toThrow('NOT_FOUND');
    await grpc.call(method.createNodeEvent, nodeReport(open, 'n2', { phase: NodePhase.QUEUED }));
    await grpc.call(method.createTaskEvent, taskReport(open, 'n2', { phase: TaskPhase.QUEUED }));
    await grpc.call(method.createWorkflowEvent, workflowReport(open, { phase: Phase.FAILED }));

    for (const transport of [grpc, rest]) {
      const { closure } = await transport.call(method.getExecution, { id: open });
      expect([closure!.phase, seconds(closure!.startedAt) < seconds(closure!.updatedAt)]).toEqual([Phase.FAILED, true]);
    }
    expect([await nodePhase('n0'), await nodePhase('n1'), await nodePhase('n2')]).toEqual([
      NodePhase.ABORTED,
      NodePhase.SUCCEEDED,
      NodePhase.ABORTED,
    ]);
    // A node that is not yet projected has no projected children; it exists all the same.
    const { nodeExecutions } = await grpc.call(method.listNodeExecutions, {
      workflowExecutionId: open,
      uniqueParentId: 'n2',
    });
    expect(nodeExecutions).toEqual([]);
    const { fullOutputs } = await grpc.call(method.getNodeExecutionData, { id: { executionId: open, nodeId: 'n1' } });
    expect(fullOutputs).toMatchObject({ literals: {} });
    const { fullInputs } = await grpc.call(method.getExecutionData, { id: open });
    expect(Object.keys(fullInputs!.literals).length).toBeGreaterThan(0);
    for (const nodeId of ['n0', 'n2']) {
      for (const taskId of [HELLO_TASK, undefined]) {
        const id = { nodeExecutionId: { executionId: open, nodeId }, ...(taskId && { taskId }), retryAttempt: 0 };
        const task = await grpc.call(method.getTaskExecution, { id });
        expect([task.id!.taskId!.name, task.closure!.phase]).toEqual([HELLO_TASK.name, TaskPhase.ABORTED]);
      }
    }
    // All of these answers were folded from the log: the views have not advanced.
    expect(await viewPosition()).toBe(before);
  });

  it('an execution that is not projected is read as the log has it', async () => {
    const id = await launchHello(one.grpc, 'not-projected');
    expect((await one.grpc.call(method.getExecution, { id })).closure!.phase).toBe(Phase.QUEUED);
    await one.grpc.call(method.terminateExecution, { id, cause: 'enough' });
    expect((await one.grpc.call(method.getExecution, { id })).closure).toMatchObject({
      phase: Phase.ABORTING,
      outputResult: { case: 'abortMetadata', value: { cause: 'enough' } },
    });
  });

  it('versions of tasks, workflows and launch plans can be read, and the active launch plan', async () => {
    const { grpc } = one;
    /** A recorded registration, as another version. */
    const again = <Desc extends DescMessage & { readonly typeName: string }>(
      request: MessageInitShape<Desc> & { readonly id?: { readonly version: string } | undefined },
      version: string,
    ) => ({ ...request, id: { ...request.id, version } }) as never;
    const task = entryOf('task', TaskCreateRequestSchema);
    const workflow = entryOf('workflow', WorkflowCreateRequestSchema);
    const plan = entryOf('launch_plan', LaunchPlanCreateRequestSchema);
    await grpc.call(method.createTask, again<typeof TaskCreateRequestSchema>(task, 'v2'));
    await grpc.call(method.createWorkflow, again<typeof WorkflowCreateRequestSchema>(workflow, 'v2'));
    for (const version of ['v2', 'v3'])
      await grpc.call(method.createLaunchPlan, again<typeof LaunchPlanCreateRequestSchema>(plan, version));
    expect((await grpc.call(method.getTask, { id: { ...task.id!, version: 'v2' } })).id!.version).toBe('v2');
    expect((await grpc.call(method.getWorkflow, { id: { ...workflow.id!, version: 'v2' } })).id!.version).toBe('v2');
    const id = { project: plan.id!.project, domain: plan.id!.domain, name: plan.id!.name };
    for (const version of ['v2', 'v3']) {
      await grpc.call(method.updateLaunchPlan, { id: { ...plan.id!, version }, state: LaunchPlanState.ACTIVE });
      expect((await grpc.call(method.getActiveLaunchPlan, { id })).id!.version).toBe(version);
    }
    await grpc.call(method.updateLaunchPlan, {
      id: { ...plan.id!, version: 'v3' },
      state: LaunchPlanState.INACTIVE,
    });
    await expect(grpc.call(method.getActiveLaunchPlan, { id })).rejects.toThrow('NOT_FOUND');
    expect((await grpc.call(method.getLaunchPlan, { id: { ...plan.id!, version: 'v3' } })).closure!.state).toBe(
      LaunchPlanState.INACTIVE,
    );
  });

  it('names can be read with description and state, and as soon as one version is registered', async () => {
    const { grpc } = one;
    const place = { project: 'flytesnacks', domain: 'development' };
    const get = async (resourceType: ResourceType, name: string) => {
      const { metadata } = await grpc.call(method.getNamedEntity, { resourceType, id: { ...place, name } });
      return [metadata!.description, metadata!.state];
    };
    const greet = { resourceType: ResourceType.TASK, id: { ...place, name: HELLO_TASK.name } };
    await grpc.call(method.updateNamedEntity, {
      ...greet,
      metadata: { description: 'greets', state: NamedEntityState.NAMED_ENTITY_ARCHIVED },
    });
    expect(await get(ResourceType.TASK, HELLO_TASK.name)).toEqual(['greets', NamedEntityState.NAMED_ENTITY_ARCHIVED]);
    await registerTask(grpc, { name: 'new-name' });
    await registerWorkflow(grpc, { name: 'new-name' });
    const plan = entryOf('launch_plan', LaunchPlanCreateRequestSchema);
    for (const name of ['new-name-2', 'new-name'])
      await grpc.call(method.createLaunchPlan, { ...plan, id: { ...plan.id!, name, version: 'v1' } });
    for (const type of [ResourceType.TASK, ResourceType.WORKFLOW, ResourceType.LAUNCH_PLAN])
      expect(await get(type, 'new-name')).toEqual(['', NamedEntityState.NAMED_ENTITY_ACTIVE]);
    await expect(get(ResourceType.TASK, 'new')).rejects.toThrow('NOT_FOUND');
    await expect(get(ResourceType.LAUNCH_PLAN, 'new-nam')).rejects.toThrow('NOT_FOUND');
  });

  it('a read that requires a position is UNAVAILABLE when the views do not reach it in time', async () => {
    const { position } = await one.grpc.attempt(method.terminateExecution, { id: open, cause: 'no' });
    // A refusal has the position of the events that it depends on, which are not yet projected either.
    expect(positionNumber(position!)).toBeGreaterThan(positionNumber(await viewPosition()));
    const id = await launchHello(one.grpc, 'positioned');
    const request = toBinary(WorkflowExecutionGetRequestSchema, create(WorkflowExecutionGetRequestSchema, { id }));
    const head = await plane.head();
    const headers = { 'flightlog-min-position': `${plane.server().ready.logId}.${head}` };
    expect(await one.grpc.send('GetExecution', request, headers)).toMatchObject({ code: 'UNAVAILABLE' });
  });
});

it('executions that were read from the log are in the views once the process was killed and started again', async () => {
  const { directory } = plane;
  await kill();
  await start({}, directory);
  // Where another process writes the views, a process may serve while they are behind.
  const headers = { 'flightlog-min-position': `${plane.server().ready.logId}.${await plane.head()}` };
  await until(
    () => getOpen(headers),
    ({ code }) => code === 'OK',
  );
  expect((await one.grpc.call(method.getExecution, { id: open })).closure!.phase).toBe(Phase.FAILED);
  expect([await nodePhase('n0'), await nodePhase('n1')]).toEqual([NodePhase.ABORTED, NodePhase.SUCCEEDED]);
  const { closure } = await one.grpc.call(method.getExecution, { id: { ...open, name: 'not-projected' } });
  expect(closure!.phase).toBe(Phase.ABORTING);
});
