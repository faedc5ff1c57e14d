import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  type ExecutionError_ErrorKind as ErrorKind,
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
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

/** The number of an error kind that the interface does not define, such as one of a later version. */
const UNKNOWN_KIND = 99 as unknown as ErrorKind;

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
const reportNode = async (id: ExecutionId, nodeId: string, event: Parameters<typeof nodeReport>[2]): Promise<string> =>
  (await attempt(method.createNodeEvent, nodeReport(id, nodeId, event))).code;
const reportTask = async (id: ExecutionId, event: Parameters<typeof taskReport>[2]): Promise<string> =>
  (await attempt(method.createTaskEvent, taskReport(id, 'n0', event))).code;

/**
 * A trap is a behaviour that published clients or engines depend on and that the interface does not state. The
 * titles of the tests number the traps; there is no other list of them.
 */
describe('compatibility traps of nodes and tasks', () => {
  it('trap 2: a phase that is reported again is ALREADY_EXISTS, for a task also in an older phase version', async () => {
    const id = await launch('again');
    const running = { phase: NodePhase.RUNNING };
    const answers = [
      await reportNode(id, 'n0', running),
      await reportNode(id, 'n0', running),
      await reportNode(id, 'n0', { ...running, occurredAt: second(90) }),
    ];
    for (const phaseVersion of [2, 2, 1, 0, 3])
      answers.push(await reportTask(id, { phase: TaskPhase.RUNNING, phaseVersion, occurredAt: second(phaseVersion) }));
    const known = 'ALREADY_EXISTS';
    expect(answers).toEqual(['OK', known, known, 'OK', known, known, known, 'OK']);
    const report = workflowReport(id, { phase: Phase.RUNNING });
    await call(method.createWorkflowEvent, report);
    expect((await attempt(method.createWorkflowEvent, report)).code).toBe(known);
  });

  it('trap 5: a node event with odd fields or an earlier phase is accepted, but none without a node id or after the end', async () => {
    const id = await launch('odd');
    const value = { code: '', message: 'x'.repeat(100_000) };
    const odd: Parameters<typeof nodeReport>[2][] = [
      { phase: NodePhase.RUNNING, occurredAt: second(50), specNodeId: '', eventVersion: 0, retryGroup: 'not a number' },
      { phase: NodePhase.QUEUED, occurredAt: second(1), reportedAt: second(0), nodeName: '' },
      { phase: NodePhase.FAILING, outputResult: { case: 'error', value: { ...value, kind: UNKNOWN_KIND } } },
      {
        phase: NodePhase.RUNNING,
        occurredAt: second(2),
        deckUri: 'no address',
        inputValue: { case: 'inputUri', value: '' },
      },
      { phase: NodePhase.FAILED, targetMetadata: { case: 'taskNodeMetadata', value: { checkpointUri: '?' } } },
      { phase: NodePhase.SUCCEEDED },
    ];
    const answers: string[] = [];
    for (const event of odd) answers.push(await reportNode(id, 'n0', event));
    expect(answers).toEqual(['OK', 'OK', 'OK', 'OK', 'OK', 'FAILED_PRECONDITION']);
    const nameless = nodeReport(id, '', { phase: NodePhase.RUNNING });
    expect((await attempt(method.createNodeEvent, nameless)).code).toBe('INVALID_ARGUMENT');
  });

  it('trap 25: a node begins in any phase, but not before its parent', async () => {
    const id = await launch('any-phase');
    const phases = Object.values(NodePhase).filter((phase) => typeof phase === 'number');
    for (const phase of phases.filter((each) => each !== NodePhase.UNDEFINED))
      expect([phase, await reportNode(id, `n${phase}`, { phase })]).toEqual([phase, 'OK']);
    const inside = { phase: NodePhase.QUEUED, parentNodeMetadata: { nodeId: 'parent' } };
    expect(await reportNode(id, 'inside', inside)).toBe('NOT_FOUND');
    await reportNode(id, 'parent', { phase: NodePhase.RUNNING });
    expect(await reportNode(id, 'inside', inside)).toBe('OK');
  });

  it('trap 26: the flags isParent, isDynamic and isArray of a node stay set', async () => {
    const id = await launch('flags');
    await reportNode(id, 'n0', { phase: NodePhase.QUEUED, isParent: true });
    await reportNode(id, 'n0', { phase: NodePhase.RUNNING, isDynamic: true });
    await reportNode(id, 'n0', { phase: NodePhase.SUCCEEDED, isArray: true });
    const { metadata } = await call(method.getNodeExecution, { id: { executionId: id, nodeId: 'n0' } });
    expect(metadata).toMatchObject({ isParentNode: true, isDynamic: true, isArray: true });
  });

  it('trap 27: every attempt of a task is its own, and one that fails does not fail its node', async () => {
    const id = await launch('retried');
    await reportNode(id, 'n0', { phase: NodePhase.RUNNING });
    await reportTask(id, { phase: TaskPhase.FAILED, retryAttempt: 0 });
    await reportTask(id, { phase: TaskPhase.RUNNING, retryAttempt: 1 });
    const { taskExecutions } = await call(method.listTaskExecutions, {
      nodeExecutionId: { executionId: id, nodeId: 'n0' },
      sortBy: { key: 'retry_attempt', direction: Direction.ASCENDING },
    });
    const attempts = taskExecutions.map(({ id: task, closure }) => [task!.retryAttempt, closure!.phase]);
    expect(attempts).toEqual([
      [0, TaskPhase.FAILED],
      [1, TaskPhase.RUNNING],
    ]);
    const { closure } = await call(method.getNodeExecution, { id: { executionId: id, nodeId: 'n0' } });
    expect(closure?.phase).toBe(NodePhase.RUNNING);
  });

  it('trap 28: external resources are merged by index and attempt, and stay when an event names none', async () => {
    const id = await launch('mapped');
    await reportNode(id, 'n0', { phase: NodePhase.RUNNING });
    const resource = (index: number, retryAttempt: number, phase: TaskPhase) => ({ index, retryAttempt, phase });
    const events = [
      [resource(1, 0, TaskPhase.RUNNING), resource(0, 0, TaskPhase.RUNNING)],
      [resource(1, 0, TaskPhase.FAILED), resource(1, 1, TaskPhase.QUEUED)],
    ];
    for (const [phaseVersion, externalResources] of events.entries())
      await reportTask(id, { phase: TaskPhase.RUNNING, phaseVersion, metadata: { externalResources } });
    await reportTask(id, { phase: TaskPhase.SUCCEEDED, metadata: { generatedName: 'map' } });
    const nodeExecutionId = { executionId: id, nodeId: 'n0' };
    const { closure } = await call(method.getTaskExecution, { id: { taskId: HELLO_TASK, nodeExecutionId } });
    expect(closure?.metadata).toMatchObject({
      generatedName: 'map',
      externalResources: [
        resource(0, 0, TaskPhase.RUNNING),
        resource(1, 0, TaskPhase.FAILED),
        resource(1, 1, TaskPhase.QUEUED),
      ],
    });
  });

  it('trap 29: the update time of nodes and tasks is the time of the report, start and end are those of the event', async () => {
    const id = await launch('times');
    const events = [
      ['QUEUED', { occurredAt: second(10), reportedAt: second(11) }],
      ['RUNNING', { occurredAt: second(20), reportedAt: second(25) }],
      ['SUCCEEDED', { occurredAt: second(50), reportedAt: second(57) }],
    ] as const;
    for (const [phase, times] of events) await reportNode(id, 'n0', { phase: NodePhase[phase], ...times });
    for (const [phase, times] of events) await reportTask(id, { phase: TaskPhase[phase], ...times });
    const nodeExecutionId = { executionId: id, nodeId: 'n0' };
    const node = await call(method.getNodeExecution, { id: nodeExecutionId });
    const task = await call(method.getTaskExecution, { id: { taskId: HELLO_TASK, nodeExecutionId } });
    for (const closure of [node.closure!, task.closure!]) {
      const times = [closure.createdAt, closure.startedAt, closure.updatedAt].map((time) => timestampDate(time!));
      expect(times).toEqual([10, 20, 57].map((at) => timestampDate(second(at))));
      expect(closure.duration).toMatchObject({ seconds: 30n });
    }
  });

  it('trap 30: nodes are listed one level at a time', async () => {
    const id = await launch('levels');
    await reportNode(id, 'n0', { phase: NodePhase.RUNNING, isParent: true });
    await reportNode(id, 'n1', { phase: NodePhase.RUNNING });
    const parentNodeMetadata = { nodeId: 'n0' };
    await reportNode(id, 'n0-0-n0', { phase: NodePhase.RUNNING, isParent: true, parentNodeMetadata });
    const inner = { nodeId: 'n0-0-n0' };
    await reportNode(id, 'n0-0-n0-0-n0', { phase: NodePhase.RUNNING, parentNodeMetadata: inner });
    const under = async (uniqueParentId: string, workflowExecutionId: ExecutionId = id) => {
      const { nodeExecutions } = await call(method.listNodeExecutions, { workflowExecutionId, uniqueParentId });
      return nodeExecutions.map((node) => node.id!.nodeId).sort();
    };
    expect(await under('')).toEqual(['n0', 'n1']);
    expect(await under('n0')).toEqual(['n0-0-n0']);
    expect(await under('', { ...PLACE, name: 'unknown' })).toEqual([]);
    const unknownParent = { workflowExecutionId: id, uniqueParentId: 'n9' };
    expect((await attempt(method.listNodeExecutions, unknownParent)).code).toBe('NOT_FOUND');
  });
});
