import type {
  NodeExecutionForTaskListRequest,
  NodeExecutionListRequest,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Call } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import type { Entities } from '../query/columns.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import type { Condition, ReadStore } from '../runtime/read-store.js';
import {
  absentRun,
  executionIdOf,
  executionStream,
  executionStreams,
  nodeExecutionKey,
  nodeText,
} from '../query/run-identifiers.js';
import { nodeExecutionCollection, nodeExecutionColumns } from './columns.js';

/** What lists of nodes stand on. */
export type NodeLists = { readonly store: ReadStore; readonly entities: Entities; readonly freshness: Freshness };

/** The task executions, as far as their nodes ask. */
export interface ParentTasks {
  /**
   * The key of the document of a task execution.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming what is missing of the identifier; NOT_FOUND.
   */
  keyOf(id: TaskExecutionIdentifier | undefined, call: Call): Promise<string>;
}

const LIST = { elements: 1, token: 2 };

/**
 * The children of the node that is asked for; the nodes of the workflow itself when none is. A node that was
 * acknowledged is there, whether the view has it or not.
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
  throw absentRun('node execution', nodeText({ nodeId, executionId: executionIdOf(workflowExecutionId) }));
};

const listedAs = (rpc: string, { store, entities }: NodeLists): Listed => ({
  rpc,
  store,
  entities,
  collection: nodeExecutionCollection,
  columns: nodeExecutionColumns,
  order: { field: 'created_at', direction: 'ascending' },
});

/** A page of the nodes under one parent; an execution that is not there has none. */
export const listNodes = async (
  reads: NodeLists,
  request: NodeExecutionListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const id = executionIdOf(request.workflowExecutionId, 'execution_id');
  const stream = executionStream(id);
  const parent = await parentOf(reads, stream, request, call);
  await reads.freshness.waitForPrefix(call, executionStreams(id.project, id.domain));
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
  return listMessage(LIST, page.elements, page.token);
};

/** A page of the nodes that a task execution has made. */
export const listNodesForTask = async (
  reads: NodeLists,
  tasks: ParentTasks,
  request: NodeExecutionForTaskListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const parentTask = await tasks.keyOf(request.taskExecutionId, call);
  const { project = '', domain = '' } = request.taskExecutionId?.nodeExecutionId?.executionId ?? {};
  await reads.freshness.waitForPrefix(call, executionStreams(project, domain));
  const where: readonly Condition[] = [{ field: 'parent_task', is: '=', value: parentTask }];
  const page = await listPage(listedAs('ListNodeExecutionsForTask', reads), { where }, request);
  return listMessage(LIST, page.elements, page.token);
};
