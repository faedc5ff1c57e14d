import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { EventFailureReasonSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { nodesOf } from '../support/clients/lists.js';
import { type ExecutionId, HELLO_TASK, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import type { Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
/** The execution of `12-big`. */
const BIG = { project: 'flytesnacks', domain: 'development', name: 'big-run' };

const execution = (transport: Transport, id: ExecutionId): Promise<Execution> =>
  transport.call(method.getExecution, { id });

const isInPhase =
  (...phases: Phase[]) =>
  ({ closure }: Execution): boolean =>
    phases.includes(closure!.phase);

/** Launches `01-hello` and reports that its node and task run. */
const launchRunning = async (transport: Transport, name: string): Promise<ExecutionId> => {
  const id = await launchHello(transport, name);
  await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
  await transport.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.RUNNING }));
  return id;
};

const nodePhase = async (transport: Transport, executionId: ExecutionId): Promise<NodePhase> =>
  (await transport.call(method.getNodeExecution, { id: { executionId, nodeId: 'n0' } })).closure!.phase;

const taskPhase = async (transport: Transport, executionId: ExecutionId): Promise<TaskPhase> => {
  const nodeExecutionId = { executionId, nodeId: 'n0' };
  const id = { nodeExecutionId, taskId: HELLO_TASK, retryAttempt: 0 };
  return (await transport.call(method.getTaskExecution, { id })).closure!.phase;
};

describe('an execution that is terminated while an engine runs it', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('12-big'));
    const big = fixtureFolder('12-big').entries.find(({ kind }) => kind === 'execution')!;
    expect((await plane.grpc.send(big.method, big.bytes)).code).toBe('OK');
  });
  afterAll(() => plane.close());

  it('is ended ABORTED by the engine, with the cause, and leaves nothing open', async () => {
    const ran = plane.run({ rate: 200 });
    await until(
      () => nodesOf(plane.rest, BIG),
      (nodes) => nodes.length > 20,
    );
    await plane.rest.call(method.terminateExecution, { id: BIG, cause: 'it costs too much' });
    expect((await execution(plane.grpc, BIG)).closure!.phase).not.toBe(Phase.RUNNING);
    const summary = await ran;
    expect(summary).toMatchObject({ endedBecause: 'idle', held: [], executions: { ABORTED: 1 } });
    for (const transport of [plane.grpc, plane.rest]) {
      const { closure } = await execution(transport, BIG);
      expect(Phase[closure!.phase]).toBe('ABORTED');
      expect(closure!.outputResult).toMatchObject({
        case: 'abortMetadata',
        value: { cause: 'it costs too much', principal: '' },
      });
      const phases = (await nodesOf(transport, BIG)).map((node) => NodePhase[node.closure!.phase]);
      expect(new Set(phases)).toEqual(new Set(['SUCCEEDED', 'ABORTED']));
    }
  });
});

describe('an execution that is terminated while no engine runs', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ FLIGHTLOG_ABORT_TIMEOUT: '1s' });
    await register(plane.grpc, withNeeds('01-hello'));
  });
  afterAll(() => plane.close());

  const terminate = async (transport: Transport, name: string, cause: string): Promise<ExecutionId> => {
    const id = await launchRunning(transport, name);
    await transport.call(method.terminateExecution, { id, cause });
    return id;
  };

  const untilAborted = (transport: Transport, id: ExecutionId): Promise<Execution> =>
    until(() => execution(transport, id), isInPhase(Phase.ABORTED));

  it.each(['grpc', 'rest'] as const)(
    'is ABORTING at once, and ABORTED by the control plane after its abort timeout: %s',
    async (way) => {
      const transport = plane[way];
      const id = await launchRunning(transport, `expires-${way}`);
      const startedAt = performance.now();
      await transport.call(method.terminateExecution, { id, cause: 'no longer needed' });
      const { closure: aborting } = await execution(transport, id);
      expect(Phase[aborting!.phase]).toBe('ABORTING');
      expect(aborting!.outputResult).toMatchObject({ case: 'abortMetadata', value: { cause: 'no longer needed' } });
      const { closure } = await untilAborted(transport, id);
      expect(performance.now() - startedAt).toBeGreaterThan(900); // the timeout is 1 s; clocks may differ a little
      expect(closure!.outputResult).toMatchObject({
        case: 'abortMetadata',
        value: { cause: expect.stringMatching(/^no longer needed; ended by the control plane/u) as string },
      });
      expect(NodePhase[await nodePhase(transport, id)]).toBe('ABORTED');
      expect(TaskPhase[await taskPhase(transport, id)]).toBe('ABORTED');
    },
  );

  it('may be terminated again while it is ABORTING, with another cause, and not after', async () => {
    const id = await terminate(plane.grpc, 'again', 'first');
    await plane.grpc.call(method.terminateExecution, { id, cause: 'second' });
    const { closure } = await untilAborted(plane.grpc, id);
    expect(closure!.outputResult).toMatchObject({ value: { cause: expect.stringMatching(/^second; /u) as string } });
    const late = await plane.grpc.attempt(method.terminateExecution, { id, cause: 'third' });
    expect(late.code).toBe('FAILED_PRECONDITION');
    const { reason } = fromBinary(EventFailureReasonSchema, late.details[0]!.value);
    expect(reason).toMatchObject({ case: 'alreadyInTerminalState', value: { currentPhase: 'ABORTED' } });
  });

  it('accepts a late end of a node and a task from the engine once, and stays ABORTED', async () => {
    const id = await terminate(plane.rest, 'gives-way', 'late');
    await untilAborted(plane.rest, id);
    await plane.rest.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED }));
    await plane.rest.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED }));
    expect(NodePhase[await nodePhase(plane.rest, id)]).toBe('SUCCEEDED');
    expect(TaskPhase[await taskPhase(plane.rest, id)]).toBe('SUCCEEDED');
    const [node, task] = [
      nodeReport(id, 'n0', { phase: NodePhase.FAILED }),
      taskReport(id, 'n0', { phase: TaskPhase.FAILED }),
    ];
    expect((await plane.rest.attempt(method.createNodeEvent, node)).code).toBe('FAILED_PRECONDITION');
    expect((await plane.rest.attempt(method.createTaskEvent, task)).code).toBe('FAILED_PRECONDITION');
    const { closure } = await execution(plane.rest, id);
    expect(Phase[closure!.phase]).toBe('ABORTED');
  });

  it('is not ABORTED by the control plane when the engine has ended it in time', async () => {
    const id = await terminate(plane.grpc, 'in-time', 'stop');
    expect(
      (await plane.grpc.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDING }))).code,
    ).toBe('FAILED_PRECONDITION');
    await plane.grpc.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.ABORTED }));
    // Once this one has been aborted, the abort timeout of the first is over, too.
    const later = await terminate(plane.grpc, 'after-in-time', 'stop');
    await untilAborted(plane.grpc, later);
    const { closure } = await execution(plane.grpc, id);
    expect(closure!.outputResult).toMatchObject({ case: 'abortMetadata', value: { cause: 'stop' } });
  });
});

describe('an execution that was terminated before the server was killed', () => {
  let plane: ControlPlane;
  afterEach(() => plane.close());

  it.each(['2s', '1ms'])(
    'is ABORTED by the control plane, started again with an abort timeout of %s',
    async (timeout) => {
      plane = await startControlPlane({ FLIGHTLOG_ABORT_TIMEOUT: '10m' });
      await register(plane.grpc, withNeeds('01-hello'));
      const id = await launchRunning(plane.grpc, 'killed');
      await plane.grpc.call(method.terminateExecution, { id, cause: 'power cut' });
      await plane.kill();
      plane = await startControlPlane({ FLIGHTLOG_ABORT_TIMEOUT: timeout }, plane.directory);
      const { closure } = await until(() => execution(plane.rest, id), isInPhase(Phase.ABORTED));
      expect(closure!.outputResult).toMatchObject({
        case: 'abortMetadata',
        value: { cause: expect.stringMatching(/^power cut; ended by the control plane/u) as string },
      });
      expect(NodePhase[await nodePhase(plane.rest, id)]).toBe('ABORTED');
      expect(TaskPhase[await taskPhase(plane.rest, id)]).toBe('ABORTED');
    },
  );
});
