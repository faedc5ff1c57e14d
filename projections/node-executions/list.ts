import type {
  NodeExecutionForTaskListRequest,
  NodeExecutionListRequest,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Call } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { ExecutionReads } from '../query/execution-reads.js';
import { latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import type { Condition } from '../runtime/read-store.js';
import {
  executionNotFound,
  completeExecutionId,
  executionStreamPrefix,
  nodeExecutionKey,
  nodeText,
} from '../query/execution-identifiers.js';
import { nodeExecutionCollection, nodeExecutionColumns } from './columns.js';
import { executionStream } from '../../services/kernel/execution-id.js';

type NodeLists = Pick<ExecutionReads, 'store' | 'entities' | 'freshness'>;

/** Lookup of task executions for lists of their nodes. */
export interface ParentTasks {
  /**
   * Finds the key of a task execution's document.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the missing part of the identifier; NOT_FOUND.
   */
  keyOf(id: TaskExecutionIdentifier | undefined, call: Call): Promise<string>;
}

/**
 * The key of the requested parent node; empty for the nodes of the workflow itself. An acknowledged node is found even
 * when the view does not have it yet.
 *
 * @throws {RpcError} NOT_FOUND when the parent node does not exist.
 */
const parentOf = async (
  reads: NodeLists,
  stream: StreamName,
  { uniqueParentId: nodeId, workflowExecutionId }: NodeExecutionListRequest,
  call: Call,
): Promise<string> => {
  if (!nodeId) return '';
  const key = nodeExecutionKey(stream, nodeId);
  if ((await reads.store.get(nodeExecutionCollection, key)) !== undefined) return key;
  if ((await latestDocument(reads, call, nodeExecutionCollection, { stream, key })) !== undefined) return key;
  throw executionNotFound(
    'node execution',
    nodeText({ nodeId, executionId: completeExecutionId(workflowExecutionId) }),
  );
};

const listedAs = (rpc: string, { store, entities }: NodeLists): Listed => ({
  rpc,
  store,
  entities,
  collection: nodeExecutionCollection,
  columns: nodeExecutionColumns,
  order: { field: 'created_at', direction: 'ascending' },
});

/**
 * Lists a page of the nodes under one parent, by default the oldest first. Without a parent in the request, the page is
 * empty for an execution that does not exist.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the execution's identifier is not complete; NOT_FOUND when the request has a
 * parent that does not exist.
 */
export const listNodes = async (
  reads: NodeLists,
  request: NodeExecutionListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const id = completeExecutionId(request.workflowExecutionId, 'execution_id'); // FlyteAdmin's name of the field
  const stream = executionStream(id);
  const parent = await parentOf(reads, stream, request, call);
  await reads.freshness.waitForPrefix(call, executionStreamPrefix(id.project, id.domain), nodeExecutionCollection);
  const page = await listPage(
    listedAs('ListNodeExecutions', reads),
    {
      where: [
        { field: 'execution', is: '=', value: stream },
        { field: 'parent', is: '=', value: parent },
      ],
    },
    request,
  );
  return listMessage(page);
};

/**
 * Lists a page of the nodes that a task execution has created, by default the oldest first.
 *
 * @throws {RpcError} as `tasks.keyOf`.
 */
export const listNodesForTask = async (
  reads: NodeLists,
  tasks: ParentTasks,
  request: NodeExecutionForTaskListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const parentTask = await tasks.keyOf(request.taskExecutionId, call);
  const { project = '', domain = '' } = request.taskExecutionId?.nodeExecutionId?.executionId ?? {};
  await reads.freshness.waitForPrefix(call, executionStreamPrefix(project, domain), nodeExecutionCollection);
  const where: readonly Condition[] = [{ field: 'parent_task', is: '=', value: parentTask }];
  const page = await listPage(listedAs('ListNodeExecutionsForTask', reads), { where }, request);
  return listMessage(page);
};
