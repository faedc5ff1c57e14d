import { equals, fromBinary } from '@bufbuild/protobuf';
import { TaskExecutionSchema } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  type Identifier,
  IdentifierSchema,
  type TaskExecutionIdentifier,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import { versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, missing, RpcError } from '../../services/kernel/rpc.js';
import { findFresh, type FoldUnprojected, type FreshReads } from '../query/freshness.js';
import type { DocumentReads, StoredDocument } from '../runtime/read-store.js';
import {
  executionNotFound,
  nodeExecutionKey,
  type NodeId,
  nodeIdOf,
  nodeText,
  type TaskVersion,
  taskExecutionKey,
} from '../query/execution-identifiers.js';
import { taskExecutionCollection } from './columns.js';
import { executionStream } from '../../services/kernel/execution-id.js';

type Attempt = { readonly node: NodeId; readonly taskId: TaskVersion; readonly retryAttempt: number };

/**
 * Checks a task's identifier. Callers of the task RPCs may omit the resource type. Errors name a missing part alone,
 * without `task_id`: `missing domain`.
 */
const taskIdOf = (sent: Identifier): TaskVersion => {
  const id = versionOf('TASK', withResourceType('TASK', sent));
  return { project: id.project, domain: id.domain, name: id.name, version: id.version };
};

/**
 * The only task of a node at an attempt, for identifiers that do not name the task; `undefined` when there is none or
 * more than one.
 */
const onlyTask = async (
  store: DocumentReads,
  unprojected: FoldUnprojected,
  { executionId, nodeId }: NodeId,
  retryAttempt: number,
): Promise<TaskVersion | undefined> => {
  const node = nodeExecutionKey(executionStream(executionId), nodeId);
  const changed = await unprojected(taskExecutionCollection, { under: `${node}/` });
  const { elements } = await store.find(taskExecutionCollection, {
    where: [
      { field: 'node', is: '=', value: node },
      { field: 'retry_attempt', is: '=', value: retryAttempt },
    ],
    orderBy: { field: 'created_at', direction: 'ascending' },
    limit: 2,
  });
  const answers = changed
    .filter(({ fields }) => fields['retry_attempt'] === retryAttempt)
    .map(({ response }) => response);
  const ids = [...elements, ...answers].flatMap((each) => fromBinary(TaskExecutionSchema, each).id?.taskId ?? []);
  const [only] = ids;
  return only !== undefined && ids.every((id) => equals(IdentifierSchema, id, only)) ? only : undefined;
};

const attemptText = ({ node, taskId: { project, domain, name, version }, retryAttempt }: Attempt): string => {
  const task = Object.entries({ project, domain, name, version }).map(
    ([part, text]) => `${part}:${JSON.stringify(text)}`,
  );
  return `task_id:{resource_type:TASK ${task.join(' ')}} node_execution_id:{${nodeText(node)}} retry_attempt:${retryAttempt}`;
};

/**
 * Finds the document of a task execution, including acknowledged events that are not yet projected.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the missing part of the identifier; NOT_FOUND.
 */
export const findTask = async (
  reads: FreshReads,
  sent: TaskExecutionIdentifier | undefined,
  call: Call,
): Promise<StoredDocument> => {
  if (sent === undefined) throw missing('id');
  const node = nodeIdOf(sent.nodeExecutionId, 'node_execution_id');
  const named = sent.taskId && taskIdOf(sent.taskId);
  const stream = executionStream(node.executionId);
  const { store } = reads;
  const { retryAttempt } = sent;
  let taskId = named;
  const document = await findFresh(
    reads,
    call,
    { stream, collection: taskExecutionCollection },
    async (unprojected) => {
      taskId = named ?? (await onlyTask(store, unprojected, node, retryAttempt));
      if (taskId === undefined) return undefined;
      const key = taskExecutionKey(stream, { nodeId: node.nodeId, taskId, retryAttempt });
      const [changed] = await unprojected(taskExecutionCollection, { key });
      return changed ?? store.get(taskExecutionCollection, key);
    },
  );
  if (document !== undefined) return document;
  if (taskId === undefined) {
    const reason = `the node has not exactly one task at attempt ${retryAttempt}`;
    throw new RpcError('INVALID_ARGUMENT', `missing task_id: ${reason}`);
  }
  throw executionNotFound('task execution', attemptText({ node, taskId, retryAttempt }));
};
