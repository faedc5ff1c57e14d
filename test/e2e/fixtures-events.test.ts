import { fromBinary } from '@bufbuild/protobuf';
import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EventFailureReasonSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import type { NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecution } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  type ExecutionError,
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { NodePhaseReportedSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { streamName } from '../../services/kernel/stream.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import {
  eventSequences,
  type EventSequence,
  type FinalNode,
  type FinalPhase,
  withNeeds,
} from '../support/requests/fixtures.js';
import { nodesOf, tasksOf } from '../support/clients/lists.js';
import type { Answer, Transport } from '../support/clients/transports.js';

const { method } = AdminService;

type Closure = NonNullable<NodeExecution['closure'] | TaskExecution['closure']>;

/** The end time as a client can compute it: start plus duration. */
const endOf = ({ startedAt, duration }: Pick<Closure, 'startedAt' | 'duration'>): string | undefined => {
  if (startedAt === undefined || duration === undefined) return undefined;
  const ms = timestampMs(startedAt) + Number(duration.seconds) * 1000 + Math.round(duration.nanos / 1e6);
  return new Date(ms).toISOString();
};

/** The expected phase and times as read; without a start there is no duration, and so no end. */
const wanted = ({ phase, startedAt, endedAt }: FinalPhase): FinalPhase => ({
  phase,
  ...(startedAt !== undefined && { startedAt: new Date(startedAt).toISOString() }),
  ...(startedAt !== undefined && endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
});

/** The phase and times that a read shows. */
const seen = (phase: string | undefined, closure: Pick<Closure, 'startedAt' | 'duration'>): FinalPhase => {
  const endedAt = endOf(closure);
  return {
    phase: phase ?? 'none',
    ...(closure.startedAt && { startedAt: timestampDate(closure.startedAt).toISOString() }),
    ...(endedAt !== undefined && { endedAt }),
  };
};

const wantedNode = ({ specNodeId, isParent = false, isDynamic = false, isArray = false, ...rest }: FinalNode) => ({
  ...wanted(rest),
  ...{ specNodeId, isParent, isDynamic, isArray },
});

const seenNode = ({ closure, metadata }: NodeExecution) => ({
  ...seen(NodePhase[closure!.phase], closure!),
  specNodeId: metadata!.specNodeId,
  isParent: metadata!.isParentNode,
  isDynamic: metadata!.isDynamic,
  isArray: metadata!.isArray,
});

/** The key by which the fixtures name an attempt of a task. */
const taskKey = ({ id }: TaskExecution): string =>
  `${id!.nodeExecutionId!.nodeId}/${id!.taskId!.name}/${id!.retryAttempt}`;

const sequences = eventSequences();
const titled = sequences.map((sequence): [title: string, sequence: EventSequence] => [sequence.name, sequence]);

describe.each(['grpc', 'rest'] as const)('a recorded sequence of events, sent over %s', (way) => {
  let plane: ControlPlane;
  let transport: Transport;
  const answers = new Map<string, Answer>();

  const execution = ({ final }: EventSequence) => ({
    project: 'flytesnacks',
    domain: 'development',
    name: final.execution.name,
  });

  beforeAll(async () => {
    plane = await startControlPlane();
    transport = plane[way];
    const folders = withNeeds(...sequences.flatMap(({ needs }) => needs));
    await register(transport, folders);
    for (const { entries } of folders)
      for (const { kind, method: rpc, bytes } of entries) if (kind === 'execution') await transport.send(rpc, bytes);
    for (const { entries } of sequences)
      for (const { path, method: rpc, bytes } of entries) answers.set(path, await transport.send(rpc, bytes));
  });
  afterAll(() => plane.close());

  it.each(titled)('gets the expected status for each event: %s', (_, { entries }) => {
    expect(entries.map(({ path }) => [path, answers.get(path)!.code])).toEqual(
      entries.map(({ path, expect: code }) => [path, code]),
    );
  });

  /** True for an event that comes after the end of its execution. */
  const isLate = ({ expect: code }: { readonly expect: string }): boolean => code === 'FAILED_PRECONDITION';
  const withLate = titled.filter(([, { entries }]) => entries.some(isLate));
  it.each(withLate)('gets the current phase in the refusal of each event after an end: %s', (_, { entries }) => {
    for (const { path } of entries.filter(isLate)) {
      const { code, details } = answers.get(path)!;
      const [detail, ...others] = details;
      expect([code, others]).toEqual(['FAILED_PRECONDITION', []]);
      expect(detail!.typeUrl).toBe(`type.googleapis.com/${transport.callersPackage}.admin.EventFailureReason`);
      const { reason } = fromBinary(EventFailureReasonSchema, detail!.value);
      expect(reason).toMatchObject({ case: 'alreadyInTerminalState', value: { currentPhase: 'SUCCEEDED' } });
    }
  });

  it.each(titled)('gives the execution the expected phase and times: %s', async (_, sequence) => {
    const { closure } = await transport.call(method.getExecution, { id: execution(sequence) });
    expect(seen(Phase[closure!.phase], closure!)).toEqual(wanted(sequence.final.execution));
    const { executions } = await transport.call(method.listExecutions, { id: execution(sequence) });
    expect(executions.map((each) => each.closure!.phase)).toEqual([closure!.phase]);
  });

  it.each(titled)('gives the nodes the expected phases, times and flags: %s', async (_, sequence) => {
    const nodes = await nodesOf(transport, execution(sequence));
    const { final } = sequence;
    const byId = Object.entries(final.nodes);
    expect(Object.fromEntries(nodes.map((node) => [node.id!.nodeId, seenNode(node)]))).toEqual(
      Object.fromEntries(byId.map(([id, node]) => [id, wantedNode(node)])),
    );
    expect(nodes.length).toBe(byId.length);
    for (const [nodeId] of byId) {
      const got = await transport.call(method.getNodeExecution, { id: { nodeId, executionId: execution(sequence) } });
      expect(got.closure!.phase).toBe(nodes.find(({ id }) => id!.nodeId === nodeId)!.closure!.phase);
    }
  });

  it.each(titled)('is in the log with the time at which each node ended: %s', async (_, sequence) => {
    const { project, domain, name } = execution(sequence);
    const stream = streamName('execution', [project, domain, name]);
    const recorded = (await plane.events()).filter(
      (each) => each.stream === stream && each.type === 'NodePhaseReported',
    );
    const ends = recorded
      .map(({ data }) => fromBinary(NodePhaseReportedSchema, data))
      .map(({ node, occurredAt }) => `${node} ${timestampDate(occurredAt!).toISOString()}`);
    for (const [nodeId, { endedAt }] of Object.entries(sequence.final.nodes))
      if (endedAt !== undefined) expect(ends).toContain(`${nodeId} ${new Date(endedAt).toISOString()}`);
  });

  it('with a long error has the whole error when read by id, and at most its first 100 bytes in lists', async () => {
    const id = execution(sequences.find(({ name }) => name === 'hello-fails')!);
    const message = (each: {
      closure?: { outputResult: { case?: string | undefined; value?: unknown } } | undefined;
    }) => (each.closure!.outputResult.value as ExecutionError).message;
    const whole = await transport.call(method.getExecution, { id });
    const { executions } = await transport.call(method.listExecutions, { id });
    const node = await transport.call(method.getNodeExecution, { id: { executionId: id, nodeId: 'n0' } });
    const { nodeExecutions } = await transport.call(method.listNodeExecutions, { workflowExecutionId: id });
    const listed = nodeExecutions.find((each) => each.id!.nodeId === 'n0')!;
    for (const [got, cut] of [
      [whole, executions[0]!],
      [node, listed],
    ] as const) {
      expect(message(got).length).toBeGreaterThan(100);
      expect(message(cut).length).toBeGreaterThan(90);
      expect(Buffer.byteLength(message(cut))).toBeLessThanOrEqual(100);
      expect(message(got).startsWith(message(cut))).toBe(true);
    }
  });

  it.each(titled)('puts each node under its parent: %s', async (_, sequence) => {
    const nodes = Object.entries(sequence.final.nodes);
    for (const parent of new Set(nodes.map(([, node]) => node.parent))) {
      const children = nodes.filter(([, node]) => node.parent === parent).map(([id]) => id);
      const request = { workflowExecutionId: execution(sequence), uniqueParentId: parent ?? '' };
      const { nodeExecutions } = await transport.call(method.listNodeExecutions, request);
      expect(nodeExecutions.map(({ id }) => id!.nodeId).sort()).toEqual(children.sort());
    }
  });

  it.each(titled)('gives every attempt of a task the expected phase and times: %s', async (_, sequence) => {
    const { final } = sequence;
    const found = new Map<string, TaskExecution>();
    for (const nodeId of Object.keys(final.nodes))
      for (const task of await tasksOf(transport, { nodeId, executionId: execution(sequence) }))
        found.set(taskKey(task), task);
    const seenTasks = [...found].map(([key, { closure }]) => [key, seen(TaskPhase[closure!.phase], closure!)] as const);
    expect(Object.fromEntries(seenTasks)).toEqual(
      Object.fromEntries(Object.entries(final.tasks).map(([key, task]) => [key, wanted(task)])),
    );
    for (const [, { id, closure }] of found) {
      const got = await transport.call(method.getTaskExecution, { id: id! });
      expect(got.closure!.phase).toBe(closure!.phase);
    }
  });

  it.each(titled)('changes nothing when its accepted events are sent again: %s', async (_, { entries }) => {
    const before = await plane.head();
    const accepted = entries.filter(({ expect: code }) => code === 'OK');
    for (const { path, method: rpc, bytes } of accepted)
      expect([path, (await transport.send(rpc, bytes)).code]).toEqual([path, 'ALREADY_EXISTS']);
    expect(await plane.head()).toBe(before);
  });
});
