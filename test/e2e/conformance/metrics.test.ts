import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { nodesOf, tasksOf } from '../../support/clients/lists.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, nodeReport, second, taskReport, workflowReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

/** Folders of `test/fixtures` whose executions the engine runs. */
const FOLDERS = ['03-branches', '04-nested', '05-launch-plans', '06-dynamic', '07-maps', '08-gates', '11-failures'];
/** The depth that has spans of all levels. */
const ALL = -1;

/** In seconds after the start of 2026: later than the creation of any execution of these tests. */
const LATER = 400_000_000;

/** The root span of an execution, with the spans of `depth` levels below it. */
const spanOf = async ({ call }: Transport, id: ExecutionId, depth: number): Promise<Span> =>
  (await call(method.getExecutionMetrics, { id, depth })).span!;

/** A span and all that are below it. */
const flat = (span: Span): readonly Span[] => [span, ...span.spans.flatMap(flat)];

/** The id of the node or execution that a span is about, `attempt N`, or an operation such as NODE_SETUP. */
const nameOf = ({ id }: Span): string => {
  if (id.case === 'nodeId') return id.value.nodeId;
  if (id.case === 'taskId') return `attempt ${id.value.retryAttempt}`;
  return id.case === 'operationId' ? id.value : (id.value?.name ?? '');
};

/** The spans as names, with start and end in seconds after `LATER`. */
const namesAndTimes = (spans: readonly Span[]): readonly (readonly [name: string, start: number, end: number])[] => {
  const zero = timestampMs(second(LATER));
  return spans.map(
    (each) =>
      [
        nameOf(each),
        (timestampMs(each.startTime!) - zero) / 1_000,
        (timestampMs(each.endTime!) - zero) / 1_000,
      ] as const,
  );
};

let plane: ControlPlane;
/** The executions that were launched; the name is '' for one that got a generated name. */
const launched: ExecutionId[] = [];
beforeAll(async () => {
  plane = await startControlPlane();
  const folders = withNeeds('01-hello', ...FOLDERS);
  await register(plane.grpc, folders);
  for (const { entries, name } of folders) {
    if (!FOLDERS.includes(name)) continue;
    for (const { kind, method: rpc, bytes, id } of entries) {
      if (kind !== 'execution') continue;
      expect((await plane.grpc.send(rpc, bytes)).code).toBe('OK');
      launched.push({ ...PLACE, name: id.name ?? '' });
    }
  }
  await plane.run();
});
afterAll(() => plane.close());

describe('the spans of executions that an engine has run', () => {
  it('are those of every node but start and end, and of every attempt outside of array nodes, each once, within the times of the execution', async () => {
    const named = launched.filter(({ name }) => name !== ''); // the others got generated names
    expect(named.length).toBeGreaterThan(10);
    let attempts = 0;
    for (const id of named) {
      const { closure } = await plane.grpc.call(method.getExecution, { id });
      const root = await spanOf(plane.grpc, id, ALL);
      expect([nameOf(root), root.startTime, root.endTime]).toEqual([id.name, closure!.createdAt, closure!.updatedAt]);
      const own = flat(root).filter(({ id: of }) => of.case === 'nodeId' && of.value.executionId!.name === id.name);
      const nodes = (await nodesOf(plane.grpc, id)).filter(
        ({ metadata }) => !/^(start|end)-node$/u.test(metadata!.specNodeId),
      );
      expect(own.map(nameOf).toSorted(), id.name).toEqual(nodes.map(({ id: of }) => of!.nodeId).toSorted());
      const bounds = [root.startTime!, root.endTime!].map(timestampMs);
      const ofOwnTasks = flat(root).filter(
        ({ id: of }) => of.case === 'taskId' && of.value.nodeExecutionId!.executionId!.name === id.name,
      );
      const outside = [...own, ...ofOwnTasks].filter(
        ({ startTime, endTime }) => timestampMs(startTime!) < bounds[0]! || timestampMs(endTime!) > bounds[1]!,
      );
      expect(outside.map(nameOf)).toEqual([]);
      const negative = flat(root).filter(({ startTime, endTime }) => timestampMs(endTime!) < timestampMs(startTime!));
      expect(negative.map(nameOf)).toEqual([]);
      const ofTasks = ofOwnTasks.flatMap(({ id: of }) =>
        of.case === 'taskId'
          ? [`${of.value.nodeExecutionId!.nodeId} ${of.value.taskId!.name} ${of.value.retryAttempt}`]
          : [],
      );
      const single = nodes.filter(({ metadata }) => !metadata!.isArray);
      const made = await Promise.all(single.map((node) => tasksOf(plane.grpc, node.id!)));
      const expectedAttempts = made
        .flat()
        .map(({ id: of }) => `${of!.nodeExecutionId!.nodeId} ${of!.taskId!.name} ${of!.retryAttempt}`);
      expect(ofTasks.toSorted()).toEqual(expectedAttempts.toSorted());
      attempts += expectedAttempts.length;
    }
    expect(attempts).toBeGreaterThan(20);
  });

  it('include those of the executions that launch plan nodes have started', async () => {
    const spans = flat(await spanOf(plane.grpc, { ...PLACE, name: 'parent-run' }, ALL));
    const children = spans.filter(({ id }) => id.case === 'workflowId').slice(1);
    expect(children.length).toBeGreaterThan(0);
    for (const child of children) expect(child.spans.some(({ id }) => id.case === 'nodeId')).toBe(true);
  });

  it('include those of the nodes that dynamic tasks have made, and of their attempts', async () => {
    const id = { ...PLACE, name: 'dynamic-defaults' };
    const spans = flat(await spanOf(plane.grpc, id, ALL));
    const shown = spans.filter(({ id: of }) => of.case === 'taskId').length;
    const nodes = await nodesOf(plane.grpc, id);
    const attempts = await Promise.all(nodes.map((node) => tasksOf(plane.grpc, node.id!)));
    expect(shown).toBe(attempts.flat().length);
    // A node that a dynamic task has made has in its id the attempt of the task, 0.
    const made = nodes
      .map(({ id: of }) => of!.nodeId)
      .filter((name) => name.includes('-0-') && !/(start|end)-node$/u.test(name));
    expect(made.length).toBeGreaterThan(0);
    expect(spans.map(nameOf)).toEqual(expect.arrayContaining(made));
  });

  it('are as deep as the request says', async () => {
    const id = { ...PLACE, name: 'outer-defaults' };
    expect((await spanOf(plane.grpc, id, 0)).spans).toEqual([]);
    const one = await spanOf(plane.grpc, id, 1);
    expect(one.spans.filter(({ id: of }) => of.case === 'nodeId').length).toBeGreaterThan(0);
    const inside = one.spans.flatMap(({ spans }) => spans);
    expect(inside.length).toBeGreaterThan(0);
    expect(new Set(inside.map(nameOf))).toEqual(new Set(['NODE_TRANSITION']));
    const depths = await Promise.all(
      [1, 2, 3, 4].map(async (depth) => flat(await spanOf(plane.grpc, id, depth)).length),
    );
    expect(depths).toEqual(depths.toSorted((a, b) => a - b));
    expect(new Set(depths).size).toBeGreaterThan(2);
    expect(flat(await spanOf(plane.grpc, id, 2 ** 31 - 1))).toEqual(flat(await spanOf(plane.grpc, id, ALL)));
  });
});

describe.each(['grpc', 'rest'] as const)('spans over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });
  // These three report a phase; `at` is its time, in seconds after LATER.
  const node = (id: ExecutionId, nodeId: string, phase: NodePhase, at: number) =>
    transport.call(method.createNodeEvent, nodeReport(id, nodeId, { phase, occurredAt: second(LATER + at) }));
  const task = (id: ExecutionId, retryAttempt: number, phase: TaskPhase, at: number) =>
    transport.call(
      method.createTaskEvent,
      taskReport(id, 'n0', { phase, retryAttempt, occurredAt: second(LATER + at) }),
    );
  const end = (id: ExecutionId, at: number) =>
    transport.call(
      method.createWorkflowEvent,
      workflowReport(id, { phase: Phase.SUCCEEDED, occurredAt: second(LATER + at) }),
    );

  it('of an execution without reports are WORKFLOW_SETUP alone', async () => {
    const id = await launchHello(transport, `idle-${way}`);
    const { spans } = await spanOf(transport, id, ALL);
    expect(spans.map(nameOf)).toEqual(['WORKFLOW_SETUP']);
  });

  it('of an execution whose start node is not reported yet are WORKFLOW_SETUP alone', async () => {
    const id = await launchHello(transport, `unstarted-${way}`);
    await node(id, 'n0', NodePhase.RUNNING, 2);
    const { spans, startTime, endTime } = await spanOf(transport, id, ALL);
    expect(spans).toMatchObject([{ id: { value: 'WORKFLOW_SETUP' }, startTime, endTime }]);
  });

  it('of an engine whose clock is behind have a WORKFLOW_SETUP that ends before it starts, but no such NODE_TEARDOWN', async () => {
    const id = await launchHello(transport, `behind-${way}`);
    const early = -2 * LATER; // in seconds after LATER: before the execution was created
    await node(id, 'start-node', NodePhase.SUCCEEDED, early);
    await node(id, 'n0', NodePhase.RUNNING, early + 5);
    await task(id, 0, TaskPhase.RUNNING, early + 6);
    await task(id, 0, TaskPhase.SUCCEEDED, early + 9);
    await node(id, 'n0', NodePhase.SUCCEEDED, early + 8);
    const { spans, startTime } = await spanOf(transport, id, ALL);
    expect(spans.map(nameOf)).toEqual(['WORKFLOW_SETUP', 'n0', 'WORKFLOW_TEARDOWN']);
    expect(spans[0]!.startTime).toEqual(startTime);
    const [[, , setupEnd] = []] = namesAndTimes(spans);
    expect(setupEnd).toBe(early);
    expect(spans[1]!.spans.map(nameOf)).toEqual(['NODE_TRANSITION', 'NODE_SETUP', 'attempt 0']);
  });

  it('of a task with two attempts lie one after another, with spans for the times between', async () => {
    const id = await launchHello(transport, `twice-${way}`);
    await node(id, 'start-node', NodePhase.SUCCEEDED, 1);
    await node(id, 'n0', NodePhase.QUEUED, 3);
    await node(id, 'n0', NodePhase.RUNNING, 4);
    await task(id, 0, TaskPhase.QUEUED, 5);
    await task(id, 0, TaskPhase.RUNNING, 7);
    await task(id, 0, TaskPhase.FAILED, 10);
    await task(id, 1, TaskPhase.QUEUED, 12);
    await task(id, 1, TaskPhase.RUNNING, 13);
    await task(id, 1, TaskPhase.SUCCEEDED, 20);
    await node(id, 'n0', NodePhase.SUCCEEDED, 22);
    await node(id, 'end-node', NodePhase.SUCCEEDED, 23);
    await end(id, 25);
    const { spans } = await spanOf(transport, id, ALL);
    expect(spans.map(nameOf)).toEqual(['WORKFLOW_SETUP', 'n0', 'WORKFLOW_TEARDOWN']);
    expect(namesAndTimes(spans.slice(1))).toEqual([
      ['n0', 3, 22],
      ['WORKFLOW_TEARDOWN', 22, 25],
    ]);
    const inside = spans[1]!.spans;
    expect(namesAndTimes(inside)).toEqual([
      ['NODE_TRANSITION', 1, 3],
      ['NODE_SETUP', 3, 5],
      ['attempt 0', 5, 10],
      ['NODE_RESET', 10, 12],
      ['attempt 1', 12, 20],
      ['NODE_TEARDOWN', 20, 22],
    ]);
    expect(namesAndTimes(inside[2]!.spans)).toEqual([
      ['TASK_SETUP', 5, 7],
      ['TASK_RUNTIME', 7, 10],
      ['TASK_TEARDOWN', 10, 10],
    ]);
  });

  it('of a running execution end at its last report', async () => {
    const id = await launchHello(transport, `running-${way}`);
    await node(id, 'start-node', NodePhase.SUCCEEDED, 1);
    await node(id, 'n0', NodePhase.RUNNING, 2);
    expect(
      namesAndTimes((await spanOf(transport, id, ALL)).spans.find((each) => nameOf(each) === 'n0')!.spans),
    ).toEqual([
      ['NODE_TRANSITION', 1, 2],
      ['NODE_SETUP', 2, 2],
    ]);
    await task(id, 0, TaskPhase.QUEUED, 3);
    const queued = flat(await spanOf(transport, id, ALL)).find((each) => nameOf(each) === 'attempt 0')!;
    expect(namesAndTimes(queued.spans)).toEqual([['TASK_SETUP', 3, 3]]);
    await task(id, 0, TaskPhase.RUNNING, 5);
    const running = flat(await spanOf(transport, id, ALL)).find((each) => nameOf(each) === 'attempt 0')!;
    expect(namesAndTimes(running.spans)).toEqual([
      ['TASK_SETUP', 3, 5],
      ['TASK_RUNTIME', 5, 5],
    ]);
  });

  it('of an execution that does not exist are NOT_FOUND', async () => {
    const request = { id: { ...PLACE, name: 'unknown' }, depth: 1 };
    expect((await transport.attempt(method.getExecutionMetrics, request)).code).toBe('NOT_FOUND');
  });
});

it.each<[string, { id?: Partial<ExecutionId> }, string]>([
  ['no identifier', {}, 'missing id'],
  ['no project', { id: { domain: 'd', name: 'n' } }, 'missing project'],
  ['no domain', { id: { project: 'p', name: 'n' } }, 'missing domain'],
  ['no name', { id: { project: 'p', domain: 'd' } }, 'missing name'],
])('a request for spans is refused with %s', async (_what, request, text) => {
  const answer = await plane.grpc.attempt(method.getExecutionMetrics, request);
  expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', text]);
});
