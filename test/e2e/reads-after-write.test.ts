import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExecutionState, WorkflowExecutionGetRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { HELLO_TASK, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import type { Answer, Transport } from '../support/clients/transports.js';

const { method } = AdminService;
const SCOPE = { project: 'flytesnacks', domain: 'development' };
/** The number of tasks, and of executions, that are each written and then read over each transport. */
const ROUNDS = 15;

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('what was written over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const rounds = Array.from({ length: ROUNDS }, (_, round) => `${way}-${round}`);

  it('can be read at once: tasks', async () => {
    const recorded = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
    for (const version of rounds) {
      const id = { ...HELLO_TASK, version };
      const { id: answered } = await transport.call(method.createTask, {
        ...recorded,
        id: { ...recorded.id!, version },
      });
      expect(answered).toMatchObject(id);
      expect((await transport.call(method.getTask, { id })).id).toMatchObject(id);
      const { tasks } = await transport.call(method.listTasks, { id: SCOPE, limit: 1 });
      expect(tasks.map((task) => task.id!.version)).toEqual([version]);
    }
  });

  it('can be read at once: projects', async () => {
    const id = `project-${way}`;
    const project = { id, name: `over ${way}`, description: 'a test', labels: { values: { team: 'a' } } };
    await transport.call(method.registerProject, { project });
    expect(await transport.call(method.getProject, { id })).toMatchObject(project);
    const { projects } = await transport.call(method.listProjects, {});
    expect(projects.map((each) => each.id)).toContain(id);
    await transport.call(method.updateProject, { ...project, name: 'another' });
    expect(await transport.call(method.getProject, { id })).toMatchObject({ name: 'another' });
  });

  it('can be read at once: executions and what engines report on them', async () => {
    for (const name of rounds) {
      const id = await launchHello(transport, `at-once-${name}`);
      const nodeId = { executionId: id, nodeId: 'n0' };
      expect((await transport.call(method.getExecution, { id })).closure!.phase).toBe(Phase.QUEUED);
      const { executions } = await transport.call(method.listExecutions, { id: SCOPE, limit: 1 });
      expect(executions.map((each) => each.id!.name)).toEqual([id.name]);

      await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
      expect((await transport.call(method.getExecution, { id })).closure!.phase).toBe(Phase.RUNNING);
      await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
      expect((await transport.call(method.getNodeExecution, { id: nodeId })).closure!.phase).toBe(NodePhase.RUNNING);
      await transport.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.QUEUED }));
      const taskId = { nodeExecutionId: nodeId, taskId: HELLO_TASK, retryAttempt: 0 };
      expect((await transport.call(method.getTaskExecution, { id: taskId })).closure!.phase).toBe(TaskPhase.QUEUED);
      const { taskExecutions } = await transport.call(method.listTaskExecutions, { nodeExecutionId: nodeId });
      expect(taskExecutions.map(({ closure }) => closure!.phase)).toEqual([TaskPhase.QUEUED]);
    }
  });

  it('can be read at once: state and tags of an execution', async () => {
    const id = await launchHello(transport, `archived-${way}`);
    const listed = async (filters = ''): Promise<boolean> => {
      const { executions } = await transport.call(method.listExecutions, { id: SCOPE, limit: 1_000, filters });
      return executions.some((each) => each.id!.name === id.name);
    };
    expect(await listed()).toBe(true);
    const tags = { values: ['nightly', 'team:a'] };
    await transport.call(method.updateExecution, { id, state: ExecutionState.EXECUTION_ARCHIVED, tags });
    // State 0 is active, 1 archived.
    expect([await listed(), await listed('eq(state,1)'), await listed('value_in(state,0;1)')]).toEqual([
      false,
      true,
      true,
    ]);
    const archived = await transport.call(method.getExecution, { id });
    expect(archived.closure!.stateChangeDetails!.state).toBe(ExecutionState.EXECUTION_ARCHIVED);
    expect(tagsOf(archived)).toEqual(tags.values);
    // An update without tags leaves the tags as they are.
    await transport.call(method.updateExecution, { id, state: ExecutionState.EXECUTION_ACTIVE });
    expect([await listed(), tagsOf(await transport.call(method.getExecution, { id }))]).toEqual([true, tags.values]);
    await transport.call(method.updateExecution, { id, tags: { values: [] } });
    expect(tagsOf(await transport.call(method.getExecution, { id }))).toEqual([]);
  });

  /** Reads an execution at a minimum position. */
  const getAt = (name: string, position: string): Promise<Answer> => {
    const request = create(WorkflowExecutionGetRequestSchema, { id: { ...SCOPE, name } });
    const headers = { 'flightlog-min-position': position };
    return transport.send('GetExecution', toBinary(WorkflowExecutionGetRequestSchema, request), headers);
  };

  it('has a position in the answer, which a read can require', async () => {
    const before = await plane.head();
    const request = helloRequest(`positioned-${way}`);
    const { position, code } = await transport.attempt(method.createExecution, request);
    expect(code).toBe('OK');
    const [, logId = '', at = ''] = /^(.+)\.(\d+)$/u.exec(position!) ?? [];
    expect([logId, BigInt(at) > before]).toEqual([plane.server().ready.logId, true]);
    const read = await getAt(request.name, position!);
    expect(read.code).toBe('OK');
    expect(BigInt(read.position!.split('.').at(-1)!)).toBeGreaterThanOrEqual(BigInt(at));
    // A position that is not reached: UNAVAILABLE after a while, never a stale read.
    expect(await getAt(request.name, `${logId}.${BigInt(at) + 1_000_000n}`)).toMatchObject({ code: 'UNAVAILABLE' });
    for (const wrong of ['tomorrow', `another-log.${at}`, `${logId}.-1`])
      expect(await getAt(request.name, wrong)).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('flightlog-min-position') as string,
      });
  });
});

const tagsOf = ({ spec }: { spec?: { tags: string[] } | undefined }): string[] => spec!.tags;
