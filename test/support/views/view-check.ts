import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecution } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { WorkflowExecutionIdentifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { positionTokens } from '../../../services/gateway/position-token.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type GrpcClient, grpcClient } from '../clients/grpc-client.js';
import { type ModelExecution, type ModelNode, type ModelTask, taskKey } from './independent-model.js';
import { until } from '../until.js';

/** The limit of a list: more than any execution of the tests has nodes or attempts. */
const PAGE = 10_000;
/** A time in milliseconds since 1970; `undefined` when it is not set. */
const msIfSet = (time: Parameters<typeof timestampMs>[0] | undefined): number | undefined =>
  time === undefined ? undefined : timestampMs(time);

/** Converts a node execution to the model's form; `parent` is the node under which it was listed. */
export const seenNode = ({ closure, metadata }: NodeExecution, parent: string): ModelNode => {
  if (closure === undefined || metadata === undefined) throw new Error('a node execution has a closure and metadata');
  const startedAtMs = msIfSet(closure.startedAt);
  return {
    phase: closure.phase,
    createdAtMs: msIfSet(closure.createdAt) ?? 0,
    ...(startedAtMs !== undefined && { startedAtMs }),
    deckUri: closure.deckUri,
    isParent: metadata.isParentNode,
    isDynamic: metadata.isDynamic,
    isArray: metadata.isArray,
    parent,
  };
};

/** Converts a task execution to the model's form. */
export const seenTask = ({ closure }: TaskExecution): ModelTask => {
  const startedAtMs = msIfSet(closure?.startedAt);
  return {
    phase: closure?.phase ?? 0,
    createdAtMs: msIfSet(closure?.createdAt) ?? 0,
    ...(startedAtMs !== undefined && { startedAtMs }),
    reasons: closure?.reasons.map(({ message }) => message) ?? [],
  };
};

/** Reads an execution from the views as clients do: its nodes from the roots down, and their attempts. */
const seenExecution = async (client: GrpcClient, id: WorkflowExecutionIdentifier): Promise<ModelExecution> => {
  const { closure } = await client.call(AdminService.method.getExecution, { id });
  const nodes = new Map<string, ModelNode>();
  const tasks = new Map<string, ModelTask>();
  const readAttempts = async (nodeId: string): Promise<void> => {
    const nodeExecutionId = { nodeId, executionId: id };
    const page = await client.call(AdminService.method.listTaskExecutions, { nodeExecutionId, limit: PAGE });
    for (const task of page.taskExecutions) {
      tasks.set(taskKey(nodeId, task.id?.taskId, task.id?.retryAttempt ?? 0), seenTask(task));
    }
  };
  const readNodes = async (uniqueParentId: string): Promise<void> => {
    const request = { workflowExecutionId: id, uniqueParentId, limit: PAGE };
    const page = await client.call(AdminService.method.listNodeExecutions, request);
    for (const node of page.nodeExecutions) {
      const nodeId = node.id?.nodeId ?? '';
      nodes.set(nodeId, seenNode(node, uniqueParentId));
      await readAttempts(nodeId);
      if (node.metadata?.isParentNode === true) await readNodes(nodeId);
    }
  };
  await readNodes('');
  const startedAtMs = msIfSet(closure?.startedAt);
  return { phase: closure?.phase ?? 0, ...(startedAtMs !== undefined && { startedAtMs }), nodes, tasks };
};

/** The differences between the views of an execution and its model; empty when there are none. */
export const differences = (name: string, model: ModelExecution, seen: ModelExecution): string[] => {
  const pairs: [string, unknown, unknown][] = [
    ['phase', model.phase, seen.phase],
    ['startedAt', model.startedAtMs, seen.startedAtMs],
  ];
  for (const [of, expected, actual] of [
    ['node', model.nodes, seen.nodes],
    ['task', model.tasks, seen.tasks],
  ] as const) {
    for (const key of new Set([...expected.keys(), ...actual.keys()])) {
      pairs.push([`${of} ${key}`, expected.get(key), actual.get(key)]);
    }
  }
  const text = (value: unknown): string =>
    JSON.stringify(value, value instanceof Object ? Object.keys(value).sort() : undefined);
  return pairs
    .filter(([, expected, actual]) => text(expected) !== text(actual))
    .map(([what, expected, actual]) => `${name} ${what}: the log says ${text(expected)}, the view ${text(actual)}`);
};

const LIST_PROJECTS = '/flyteidl.service.AdminService/ListProjects';

/** Waits until the views of a server have reached a position of the log, and compares them with the model. */
export const differencesAt = async (
  { grpc, logId }: { readonly grpc: string; readonly logId: string },
  head: bigint,
  model: ReadonlyMap<string, ModelExecution>,
): Promise<readonly string[]> => {
  const client = grpcClient(grpc);
  const position = { 'flightlog-min-position': positionTokens(logId).format(head) };
  const seen = async (): Promise<string> => {
    const { code, message } = await client.raw(LIST_PROJECTS, new Uint8Array(), position);
    return `${code} ${message}`;
  };
  try {
    await until(seen, (answer) => answer.startsWith('OK'));
    return await viewDifferences(client, model);
  } finally {
    client.close();
  }
};

/** Compares the views of every execution with the model of the log; returns the differences. */
export const viewDifferences = async (
  client: GrpcClient,
  model: ReadonlyMap<string, ModelExecution>,
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const [key, expected] of model) {
    const [project = '', domain = '', name = ''] = key.split('/');
    const seen = await seenExecution(client, { project, domain, name } as WorkflowExecutionIdentifier);
    found.push(...differences(key, expected, seen));
  }
  return found;
};
