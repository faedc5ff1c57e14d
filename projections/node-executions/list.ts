import type { NodeExecutionListRequest } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { Call } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Freshness } from '../kernel/freshness.js';
import { listMessage } from '../kernel/list-message.js';
import { type Listed, listPage } from '../kernel/list-query.js';
import type { ReadStore } from '../kernel/read-store.js';
import {
  absentRun,
  executionIdOf,
  executionStream,
  executionStreams,
  nodeExecutionKey,
  nodeText,
} from '../kernel/run-identifiers.js';
import { nodeExecutionCollection, nodeExecutionColumns } from './columns.js';

const LIST = { elements: 1, token: 2 };

/** The children of the node that is asked for; the nodes of the workflow itself when none is. */
const parentOf = async (store: ReadStore, stream: StreamName, request: NodeExecutionListRequest): Promise<string> => {
  const { uniqueParentId: nodeId, workflowExecutionId } = request;
  if (!nodeId) return '';
  const key = nodeExecutionKey(stream, nodeId);
  if ((await store.get(nodeExecutionCollection, key)) !== undefined) return key;
  throw absentRun('node execution', nodeText({ nodeId, executionId: executionIdOf(workflowExecutionId) }));
};

/** A page of the nodes under one parent; an execution that is not there has none. */
export const listNodes = async (
  { store, freshness }: { readonly store: ReadStore; readonly freshness: Freshness },
  request: NodeExecutionListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const id = executionIdOf(request.workflowExecutionId, 'execution_id');
  const stream = executionStream(id);
  await freshness.waitForPrefix(call, executionStreams(id.project, id.domain));
  const listed: Listed = {
    rpc: 'ListNodeExecutions',
    store,
    collection: nodeExecutionCollection,
    columns: nodeExecutionColumns,
    order: { field: 'created_at', direction: 'ascending' },
  };
  const parent = await parentOf(store, stream, request);
  const page = await listPage(
    listed,
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
