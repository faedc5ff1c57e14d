import { create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EventFailureReasonSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import { ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ExecutionClusterLabelSchema } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  ExecutionError_ErrorKind as ErrorKind,
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { NodeExecutionIdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../../support/requests/hello.js';
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
let call: Transport['call'];
let attempt: Transport['attempt'];

beforeAll(async () => {
  plane = await startControlPlane();
  ({ call, attempt } = plane.grpc);
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

const launch = (name: string): Promise<ExecutionId> => launchHello(plane.grpc, name);
const closureOf = async (id: ExecutionId) => (await call(method.getExecution, { id })).closure!;
const reportWorkflow = async (id: ExecutionId, event: Parameters<typeof workflowReport>[1]): Promise<string> =>
  (await attempt(method.createWorkflowEvent, workflowReport(id, event))).code;
const reportNode = async (id: ExecutionId, nodeId: string, event: Parameters<typeof nodeReport>[2]): Promise<string> =>
  (await attempt(method.createNodeEvent, nodeReport(id, nodeId, event))).code;
const reportTask = async (id: ExecutionId, event: Parameters<typeof taskReport>[2]): Promise<string> =>
  (await attempt(method.createTaskEvent, taskReport(id, 'n0', event))).code;

/**
 * A trap is a behaviour that published clients or engines depend on and that the interface does not state. The
 * titles of the tests number the traps; there is no other list of them.
 */
describe('compatibility traps of executions', () => {
  it('trap 3: an event of an unknown execution is NOT_FOUND, one of a new execution is accepted', async () => {
    const unknown = { ...PLACE, name: 'unknown' };
    const answers = [
      await reportWorkflow(unknown, { phase: Phase.RUNNING }),
      await reportNode(unknown, 'n0', { phase: NodePhase.QUEUED }),
      await reportTask(unknown, { phase: TaskPhase.QUEUED }),
    ];
    expect(answers).toEqual(['NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND']);
    for (let at = 0; at < 20; at += 1) {
      const id = await launch(`just-created-${at}`);
      expect(await reportWorkflow(id, { phase: Phase.QUEUED })).toBe('OK');
    }
  });

  it('trap 17: inputs may be in the old field, a task runs by itself, and a launch needs its resource type', async () => {
    const inputs = create(LiteralMapSchema, { literals: { name: literal('console'), times: literal(3n) } });
    const older = helloRequest('old-inputs', (request) => {
      delete request.inputs;
      Object.assign(request.spec!, { inputs });
    });
    const { id } = await call(method.createExecution, older);
    const { fullInputs } = await call(method.getExecutionData, { id: id! });
    expect(fullInputs).toMatchObject(inputs);

    const ofTask = helloRequest('one-task', ({ spec }) => Object.assign(spec!.launchPlan!, HELLO_TASK));
    await call(method.createExecution, ofTask);
    const { workflowId } = await closureOf({ ...PLACE, name: 'one-task' });
    expect(workflowId?.name).toMatch(/^\.flytegen\./u);

    const vague = helloRequest('vague', ({ spec }) =>
      Object.assign(spec!.launchPlan!, { resourceType: ResourceType.UNSPECIFIED }),
    );
    expect(await attempt(method.createExecution, vague)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('trap 18: the name of an execution cannot be used again, also when the execution is archived', async () => {
    const id = await launch('taken');
    await call(method.updateExecution, { id, state: ExecutionState.EXECUTION_ARCHIVED });
    expect((await attempt(method.createExecution, helloRequest('taken'))).code).toBe('ALREADY_EXISTS');
  });

  it('trap 19: a child inherits from its parent, which must exist, and a parent can name only a child that exists', async () => {
    const executionClusterLabel = create(ExecutionClusterLabelSchema, { value: 'gpu' });
    const parent = { ...PLACE, name: 'parent' };
    const labelled = helloRequest('parent', ({ spec }) => Object.assign(spec!, { executionClusterLabel }));
    await call(method.createExecution, labelled);
    await reportNode(parent, 'n0', { phase: NodePhase.RUNNING });
    const child = (name: string, nodeId: string) =>
      helloRequest(name, ({ spec }) => {
        spec!.metadata!.parentNodeExecution = create(NodeExecutionIdentifierSchema, { executionId: parent, nodeId });
      });
    expect((await attempt(method.createExecution, child('orphan', 'n9'))).code).toBe('NOT_FOUND');

    const childId = { ...PLACE, name: 'child' };
    const target = { case: 'workflowNodeMetadata', value: { executionId: childId } } as const;
    expect(await reportNode(parent, 'n0', { phase: NodePhase.SUCCEEDED, targetMetadata: target })).toBe('NOT_FOUND');
    await call(method.createExecution, child('child', 'n0'));
    const { spec } = await call(method.getExecution, { id: childId });
    expect(spec?.executionClusterLabel?.value).toBe('gpu');
    expect(spec?.metadata).toMatchObject({ nesting: 1, parentNodeExecution: { executionId: parent, nodeId: 'n0' } });
    expect(await reportNode(parent, 'n0', { phase: NodePhase.SUCCEEDED, targetMetadata: target })).toBe('OK');
  });

  it('trap 20: an invalid launch is refused with a status that the engine does not retry', async () => {
    const launches = [
      helloRequest('Not-A-Name'),
      helloRequest('no-plan', ({ spec }) => Object.assign(spec!.launchPlan!, { name: 'unknown' })),
      helloRequest('no-spec', (request) => {
        delete request.spec;
      }),
      helloRequest('no-project', (request) => void (request.project = 'unknown')),
      helloRequest('bad-input', (request) => {
        request.inputs!.literals['times'] = request.inputs!.literals['name']!;
      }),
      helloRequest('taken-twice'),
      helloRequest('taken-twice'),
    ];
    const codes: string[] = [];
    for (const request of launches) codes.push((await attempt(method.createExecution, request)).code);
    const mistake = 'INVALID_ARGUMENT';
    expect(codes).toEqual([mistake, 'NOT_FOUND', mistake, mistake, mistake, 'OK', 'ALREADY_EXISTS']);
  });

  it('trap 21: an execution that the engine cannot start is FAILED with the error of the engine', async () => {
    const id = await launch('never-started');
    const error = { code: 'Internal', message: 'disk full', kind: ErrorKind.SYSTEM };
    await call(
      method.createWorkflowEvent,
      workflowReport(id, { phase: Phase.FAILED, outputResult: { case: 'error', value: error } }),
    );
    expect(await closureOf(id)).toMatchObject({ phase: Phase.FAILED, outputResult: { case: 'error', value: error } });
  });

  it('trap 22: a new execution is QUEUED at once, and the first QUEUED report of the engine is recorded', async () => {
    const id = await launch('new');
    const closure = await closureOf(id);
    expect(closure).toMatchObject({
      phase: Phase.QUEUED,
      stateChangeDetails: { state: ExecutionState.EXECUTION_ACTIVE },
    });
    expect(closure.updatedAt).toEqual(closure.createdAt);
    expect([closure.createdAt, closure.startedAt, closure.duration]).toEqual([expect.anything(), undefined, undefined]);
    expect(await reportWorkflow(id, { phase: Phase.QUEUED })).toBe('OK');
    expect(await reportWorkflow(id, { phase: Phase.QUEUED, occurredAt: second(9) })).toBe('ALREADY_EXISTS');
  });

  it('trap 23: a terminated execution is ABORTING at once, and ABORTED with the report of the engine', async () => {
    const id = await launch('terminated');
    await reportWorkflow(id, { phase: Phase.RUNNING });
    expect((await attempt(method.terminateExecution, { id: { ...PLACE, name: 'unknown' } })).code).toBe('NOT_FOUND');
    await call(method.terminateExecution, { id, cause: 'enough' });
    expect(await closureOf(id)).toMatchObject({
      phase: Phase.ABORTING,
      outputResult: { case: 'abortMetadata', value: { cause: 'enough' } },
    });
    await reportWorkflow(id, { phase: Phase.ABORTED });
    expect((await closureOf(id)).phase).toBe(Phase.ABORTED);
    const { code, details } = await attempt(method.terminateExecution, { id, cause: 'again' });
    const { reason } = fromBinary(EventFailureReasonSchema, details[0]!.value);
    expect([code, reason]).toMatchObject([
      'FAILED_PRECONDITION',
      { case: 'alreadyInTerminalState', value: { currentPhase: 'ABORTED' } },
    ]);
    for (const [at, phase] of [Phase.SUCCEEDED, Phase.FAILED, Phase.TIMED_OUT].entries()) {
      const other = await launch(`terminated-${at}`);
      await call(method.terminateExecution, { id: other });
      expect(await reportWorkflow(other, { phase })).toBe('OK');
    }
  });

  it('trap 24: another engine takes an execution over with QUEUED, and an engine named propeller, or without a name, may always report', async () => {
    const id = await launch('handed-over');
    const queued = (producerId: string) => reportWorkflow(id, { phase: Phase.QUEUED, producerId });
    expect([await queued('east'), await queued('west'), await queued('west')]).toEqual(['OK', 'OK', 'ALREADY_EXISTS']);
    expect(await reportWorkflow(id, { phase: Phase.RUNNING, producerId: 'east' })).toBe('FAILED_PRECONDITION');
    expect(await reportWorkflow(id, { phase: Phase.RUNNING, producerId: 'propeller' })).toBe('OK');
    expect(await reportNode(id, 'n0', { phase: NodePhase.RUNNING, producerId: '' })).toBe('OK');
  });
});
