import { fromBinary } from '@bufbuild/protobuf';

import { TaskExecutionSchema } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { Identifier, TaskExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, missing, RpcError } from '../../services/kernel/rpc.js';
import type { Freshness } from '../kernel/freshness.js';
import type { ReadStore, StoredDocument } from '../kernel/read-store.js';
import {
  absentRun,
  executionStream,
  nodeExecutionKey,
  type NodeId,
  nodeIdOf,
  nodeText,
  type TaskId,
  taskExecutionKey,
} from '../kernel/run-identifiers.js';
import { taskExecutionCollection } from './columns.js';

type Reads = { readonly store: ReadStore; readonly freshness: Freshness };
type Attempt = { readonly node: NodeId; readonly taskId: TaskId; readonly retryAttempt: number };

/** The RPCs of tasks leave the resource type out at will, and name what is missing under `task_id`. */
const taskIdOf = (sent: Identifier): TaskId => {
  const id = versionOf('TASK', withResourceType('TASK', sent));
  return { project: id.project, domain: id.domain, name: id.name, version: id.version };
};

/** The one task of a node at an attempt, for identifiers that do not name it. */
const onlyTask = async (store: ReadStore, node: NodeId, retryAttempt: number): Promise<TaskId | undefined> => {
  const { elements } = await store.find(taskExecutionCollection, {
    where: [
      { field: 'node', is: '=', value: nodeExecutionKey(executionStream(node.executionId), node.nodeId) },
      { field: 'retry_attempt', is: '=', value: retryAttempt },
    ],
    orderBy: { field: 'created_at', direction: 'ascending' },
    limit: 2,
  });
  const [only, other] = elements;
  if (only === undefined || other !== undefined) return undefined;
  return fromBinary(TaskExecutionSchema, only).id?.taskId;
};

const attemptText = ({ node, taskId: { project, domain, name, version }, retryAttempt }: Attempt): string => {
  const task = Object.entries({ project, domain, name, version }).map(
    ([part, text]) => `${part}:${JSON.stringify(text)}`,
  );
  return `task_id:{resource_type:TASK ${task.join(' ')}} node_execution_id:{${nodeText(node)}} retry_attempt:${retryAttempt}`;
};

/**
 * The document of a task execution, as its writers have acknowledged it.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming what is missing of the identifier; NOT_FOUND.
 */
export const foundTask = async (
  { store, freshness }: Reads,
  sent: TaskExecutionIdentifier | undefined,
  call: Call,
): Promise<StoredDocument> => {
  if (sent === undefined) throw missing('id');
  const node = nodeIdOf(sent.nodeExecutionId, 'node_execution_id');
  const named = sent.taskId && taskIdOf(sent.taskId);
  const stream = executionStream(node.executionId);
  await freshness.waitForStream(call, stream);
  const { retryAttempt } = sent;
  const taskId = named ?? (await onlyTask(store, node, retryAttempt));
  if (taskId === undefined) {
    const why = `the node has not exactly one task at attempt ${retryAttempt}`;
    throw new RpcError('INVALID_ARGUMENT', `missing task_id: ${why}`);
  }
  const key = taskExecutionKey(stream, { nodeId: node.nodeId, taskId, retryAttempt });
  const document = await store.get(taskExecutionCollection, key);
  if (document === undefined) throw absentRun('task execution', attemptText({ node, taskId, retryAttempt }));
  return document;
};
