import { clone, create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
  LaunchPlanMetadataSchema,
  LaunchPlanState,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import {
  CreateWorkflowFailureReasonSchema,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { CompiledWorkflowClosureSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { NodeExecution_Phase as NodePhase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { againEntries, fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { flyteidl } from '../../support/clients/published-client.js';
import { PLACE } from '../../support/requests/registrations.js';
import { nodeReport } from '../../support/requests/reports.js';
import type { Answer, Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

let plane: ControlPlane;
let call: Transport['call'];
let attempt: Transport['attempt'];

beforeAll(async () => {
  plane = await startControlPlane();
  ({ call, attempt } = plane.grpc);
  await register(plane.grpc, withNeeds('02-diamond', '03-branches', '04-nested', '05-launch-plans', '01-hello'));
});
afterAll(() => plane.close());

const idOf = (resourceType: ResourceType, name: string, version = 'v1') => ({ ...PLACE, resourceType, name, version });
const task = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
const workflow = fromBinary(WorkflowCreateRequestSchema, fixtureBytes('01-hello/002-workflow.create_request.pb'));
const plan = fromBinary(LaunchPlanCreateRequestSchema, fixtureBytes('01-hello/003-launch_plan.create_request.pb'));

const planOf = (version: string): LaunchPlanCreateRequest => {
  const request = clone(LaunchPlanCreateRequestSchema, plan);
  request.id!.version = version;
  return request;
};
const activeVersions = async (name: string): Promise<readonly string[]> => {
  const { launchPlans } = await call(method.listActiveLaunchPlans, PLACE);
  return launchPlans.filter(({ id }) => id!.name === name).map(({ id }) => id!.version);
};

/**
 * A trap is a behaviour that published clients or engines depend on and that the interface does not state. The
 * titles of the tests number the traps; there is no other list of them.
 */
describe('compatibility traps of registration', () => {
  it('trap 10: a version that exists is ALREADY_EXISTS, and the answer says whether it is the same', async () => {
    const changed = clone(TaskCreateRequestSchema, task);
    changed.spec!.template!.type = 'other-task';
    const changedWorkflow = clone(WorkflowCreateRequestSchema, workflow);
    changedWorkflow.spec!.template!.nodes[0]!.metadata!.name = 'another name';
    const changedPlan = clone(LaunchPlanCreateRequestSchema, plan);
    changedPlan.spec!.fixedInputs = undefined;
    changedPlan.spec!.defaultInputs!.parameters['times']!.behavior = { case: 'required', value: true };
    const pairs: readonly (readonly [Promise<Answer>, Promise<Answer>])[] = [
      [attempt(method.createTask, task), attempt(method.createTask, changed)],
      [attempt(method.createWorkflow, workflow), attempt(method.createWorkflow, changedWorkflow)],
      [attempt(method.createLaunchPlan, plan), attempt(method.createLaunchPlan, changedPlan)],
    ];
    for (const [same, other] of pairs) {
      expect(await same).toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining('identical') as string,
      });
      expect(await other).toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining('different') as string,
      });
    }
    const [{ details: same }, { details: other }] = [await pairs[1]![0], await pairs[1]![1]];
    const reasonOf = (details: Answer['details']) =>
      fromBinary(CreateWorkflowFailureReasonSchema, details[0]!.value).reason.case;
    expect([reasonOf(same), reasonOf(other)]).toEqual(['existsIdenticalStructure', 'existsDifferentStructure']);

    // The requests of 02-diamond, registered above, as another process has encoded them, with maps in another order.
    const again = againEntries().filter(({ same: path }) => path.startsWith('02-diamond/'));
    expect(again.length).toBeGreaterThan(0);
    for (const { method: rpc, bytes } of again)
      expect(await plane.grpc.send(rpc, bytes)).toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining('identical') as string,
      });
  });

  it('trap 11: the template has the id of the request, even where the client has sent it with another id', async () => {
    const [ofTask, ofWorkflow] = [clone(TaskCreateRequestSchema, task), clone(WorkflowCreateRequestSchema, workflow)];
    ofTask.id!.version = 'renamed';
    ofWorkflow.id!.version = 'renamed';
    await call(method.createTask, ofTask);
    await call(method.createWorkflow, ofWorkflow);
    const { closure } = await call(method.getTask, { id: ofTask.id! });
    expect(closure?.compiledTask?.template?.id).toEqual(ofTask.id);
    const { closure: compiled } = await call(method.getWorkflow, { id: ofWorkflow.id! });
    expect(compiled?.compiledWorkflow?.primary?.template?.id).toEqual(ofWorkflow.id);
    ofTask.spec!.template!.id = ofTask.id;
    const same = await attempt(method.createTask, ofTask);
    expect(same).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('identical') as string });
  });

  it('trap 12: a workflow is compiled: start and end nodes, promises, branches, connections, tasks and sub-workflows', async () => {
    const compiledOf = async (name: string) =>
      (await call(method.getWorkflow, { id: idOf(ResourceType.WORKFLOW, name) })).closure!.compiledWorkflow!;
    const { primary, tasks } = await compiledOf('hello.hello');
    expect(primary!.template!.nodes.map(({ id }) => id)).toEqual(['start-node', 'end-node', 'n0']);
    const [input] = primary!.template!.nodes.find(({ id }) => id === 'n0')!.inputs;
    expect(input!.binding!.value).toMatchObject({ case: 'promise', value: { nodeId: 'start-node' } });
    expect(primary!.connections!.downstream['start-node']!.ids).toEqual(['n0']);
    expect(primary!.connections!.upstream['end-node']!.ids).toEqual(['n0']);
    expect(tasks.map(({ template }) => template!.id!.name)).toEqual(['hello.greet']);

    const nested = await compiledOf('nested.outer');
    const inside = nested.subWorkflows.map(({ template }) => template!.id!.name).sort();
    expect(inside).toEqual(['nested.innermost', 'nested.middle']);

    const { primary: branching } = await compiledOf('branches.dispatch');
    const branch = branching!.template!.nodes.find(({ target }) => target.case === 'branchNode')!;
    if (branch.target.case !== 'branchNode') throw new Error('no branch');
    expect(branch.target.value.ifElse!.case!.thenNode!.id).toMatch(new RegExp(`^${branch.id}-`, 'u'));
  });

  it('trap 13: a compiled workflow, also a dynamic one, is given as a CompiledWorkflowClosure of the interface', async () => {
    const bytes = fixtureBytes('06-dynamic/dynamic/inner-fan.compiled_workflow_closure.pb');
    const compiledWorkflow = fromBinary(CompiledWorkflowClosureSchema, bytes);
    const executionId = await launchHello(plane.grpc, 'dynamic');
    const { id } = compiledWorkflow.primary!.template!;
    const value = { dynamicWorkflow: { id: id!, compiledWorkflow, dynamicJobSpecUri: 's3://specs/1' } };
    await call(
      method.createNodeEvent,
      nodeReport(executionId, 'n0', {
        phase: NodePhase.DYNAMIC_RUNNING,
        isDynamic: true,
        targetMetadata: { case: 'taskNodeMetadata', value },
      }),
    );
    const node = { id: { executionId, nodeId: 'n0' } };
    expect((await call(method.getDynamicNodeWorkflow, node)).compiledWorkflow).toEqual(compiledWorkflow);
    const { dynamicWorkflow } = await call(method.getNodeExecutionData, node);
    expect(dynamicWorkflow).toMatchObject({ id: id!, compiledWorkflow, dynamicJobSpecUri: 's3://specs/1' });

    const outer = { resourceType: ResourceType.WORKFLOW, ...PLACE, name: 'nested.outer', version: 'v1' };
    const request = flyteidl.admin.ObjectGetRequest.encode({ id: outer }).finish();
    const answer = await plane.grpc.send('GetWorkflow', request);
    const { closure } = flyteidl.admin.Workflow.decode(answer.bytes);
    expect(closure?.compiledWorkflow?.primary?.template?.id).toMatchObject({ name: 'nested.outer', version: 'v1' });
  });

  it('trap 14: the server works out the inputs that a launch plan expects, and its outputs', async () => {
    const planNamed = async (name: string) => call(method.getLaunchPlan, { id: idOf(ResourceType.LAUNCH_PLAN, name) });
    const { spec, closure } = await planNamed('launchplans.orders');
    for (const { parameters } of [spec!.defaultInputs!, closure!.expectedInputs!]) {
      expect(Object.keys(parameters).sort()).toEqual(['day', 'sample']);
      expect(parameters['day']!.behavior.case).toBe('default');
    }
    expect(Object.keys(closure!.expectedOutputs!.variables)).toEqual(['o0']);

    const bare = planOf('bare');
    bare.spec!.defaultInputs = undefined;
    await call(method.createLaunchPlan, bare);
    const required = await call(method.getLaunchPlan, { id: bare.id! });
    for (const { parameters } of [required.spec!.defaultInputs!, required.closure!.expectedInputs!])
      expect(
        Object.entries(parameters)
          .map(([name, { behavior }]) => [name, behavior])
          .sort(),
      ).toEqual([
        ['name', { case: 'required', value: true }],
        ['times', { case: 'required', value: true }],
      ]);
  });

  it('trap 15: no active version is NOT_FOUND, and an update without a state deactivates the version', async () => {
    const name = 'launchplans.orders';
    const active = () => attempt(method.getActiveLaunchPlan, { id: { ...PLACE, name } });
    expect((await active()).code).toBe('NOT_FOUND');
    const id = { ...PLACE, name, version: 'v1' };
    await call(method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
    expect((await active()).code).toBe('OK');
    await call(method.updateLaunchPlan, { id });
    expect((await active()).code).toBe('NOT_FOUND');
  });

  it('trap 16: one version of a launch plan is active: the one that was activated last, with its own schedule', async () => {
    const name = plan.id!.name;
    for (const [version, cron] of [
      ['one', '0 1 * * *'],
      ['two', '0 2 * * *'],
    ] as const) {
      const request = planOf(version);
      const schedule = { ScheduleExpression: { case: 'cronSchedule', value: { schedule: cron } } } as const;
      request.spec!.entityMetadata = create(LaunchPlanMetadataSchema, { schedule });
      await call(method.createLaunchPlan, request);
    }
    const activate = (version: string) =>
      call(method.updateLaunchPlan, { id: { ...PLACE, name, version }, state: LaunchPlanState.ACTIVE });
    await activate('one');
    await activate('two');
    expect(await activeVersions(name)).toEqual(['two']);
    const { spec } = await call(method.getActiveLaunchPlan, { id: { ...PLACE, name } });
    expect(spec!.entityMetadata!.schedule!.ScheduleExpression).toMatchObject({
      case: 'cronSchedule',
      value: { schedule: '0 2 * * *' },
    });
    await Promise.all(Array.from({ length: 10 }, (_, at) => activate(at % 2 === 0 ? 'one' : 'two')));
    expect(await activeVersions(name)).toHaveLength(1);
  });
});
