import { create, fromBinary } from '@bufbuild/protobuf';
import { FlyteURLsSchema, type FlyteURLs } from '../../proto/gen/platformidl/admin/common_pb.js';
import {
  DynamicNodeWorkflowResponseSchema,
  DynamicWorkflowNodeMetadataSchema,
  type NodeExecution,
  type NodeExecutionGetDataResponse,
  NodeExecutionGetDataResponseSchema,
  NodeExecutionSchema,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { NodeExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { DynamicWorkflowNodeMetadata } from '../../proto/gen/platformidl/event/event_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Call, type Route, route, RpcError } from '../../services/kernel/rpc.js';
import type { ExecutionReads } from '../query/execution-reads.js';
import { latestDocument } from '../query/freshness.js';
import { type CallContents, contentsFor, unlessUnreadable } from '../query/recorded-contents.js';
import { UNSIGNED_URLS } from '../query/unsigned-urls.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { executionNotFound, nodeExecutionKey, nodeIdOf, nodeText } from '../query/execution-identifiers.js';
import { nodeExecutionCollection } from './columns.js';
import { dynamicWorkflowOf, inputsOf, outputsOf } from './data.js';
import { listNodes, listNodesForTask, type ParentTasks } from './list.js';
import { executionStream } from '../../services/kernel/execution-id.js';

const found = async (
  reads: ExecutionReads,
  sent: NodeExecutionIdentifier | undefined,
  call: Call,
): Promise<StoredDocument> => {
  const id = nodeIdOf(sent);
  const stream = executionStream(id.executionId);
  const key = nodeExecutionKey(stream, id.nodeId);
  const document = await latestDocument(reads, call, nodeExecutionCollection, { stream, key });
  if (document === undefined) throw executionNotFound('node execution', nodeText(id));
  return document;
};

/** The `flyte://` URLs by which clients refer to the inputs, the outputs and the deck of a node. */
const urlsOf = ({ id, closure }: NodeExecution): FlyteURLs => {
  const { project = '', domain = '', name = '' } = id?.executionId ?? {};
  const base = `flyte://v1/${project}/${domain}/${name}/${id?.nodeId ?? ''}`;
  const hasDeck = closure !== undefined && closure.deckUri !== '';
  return create(FlyteURLsSchema, {
    inputs: `${base}/i`,
    outputs: `${base}/o`,
    deck: hasDeck ? `${base}/d` : '',
  });
};

const dynamicMetadata = (
  { compiledWorkflow, id, dynamicJobSpecUri }: DynamicWorkflowNodeMetadata,
  { closure }: NodeExecution,
): NonNullable<NodeExecutionGetDataResponse['dynamicWorkflow']> => {
  const templateId = compiledWorkflow?.primary?.template?.id ?? id;
  return create(DynamicWorkflowNodeMetadataSchema, {
    ...(templateId && { id: templateId }),
    ...(compiledWorkflow && { compiledWorkflow }),
    dynamicJobSpecUri: dynamicJobSpecUri || (closure?.dynamicJobSpecUri ?? ''),
  });
};

const dataOf = async (contents: CallContents, document: StoredDocument): Promise<NodeExecutionGetDataResponse> => {
  const node = fromBinary(NodeExecutionSchema, document.response);
  const [fullInputs, fullOutputs, dynamic] = await Promise.all([
    inputsOf(contents, document, node),
    outputsOf(contents, document, node),
    unlessUnreadable(contents, { field: 'dynamic_workflow', entity: document.key }, () =>
      dynamicWorkflowOf(contents, document),
    ),
  ]);
  return create(NodeExecutionGetDataResponseSchema, {
    ...UNSIGNED_URLS,
    ...(fullInputs && { fullInputs }),
    ...(fullOutputs && { fullOutputs }),
    ...(dynamic && { dynamicWorkflow: dynamicMetadata(dynamic, node) }),
    flyteUrls: urlsOf(node),
  });
};

/** Routes of the reads of node executions. */
export const nodeExecutionsRoutes = (reads: ExecutionReads): readonly Route[] => [
  route(AdminService.method.getNodeExecution, async ({ id }, call) => (await found(reads, id, call)).response),
  route(AdminService.method.listNodeExecutions, (request, call) => listNodes(reads, request, call)),
  route(AdminService.method.getNodeExecutionData, async ({ id }, call) =>
    dataOf(contentsFor(reads.contents, call), await found(reads, id, call)),
  ),
  route(AdminService.method.getDynamicNodeWorkflow, async ({ id }, call) => {
    const dynamic = await dynamicWorkflowOf(contentsFor(reads.contents, call), await found(reads, id, call));
    if (dynamic?.compiledWorkflow === undefined) {
      throw new RpcError('NOT_FOUND', 'node does not contain dynamic workflow');
    }
    return create(DynamicNodeWorkflowResponseSchema, { compiledWorkflow: dynamic.compiledWorkflow });
  }),
];

/** Route of the list of nodes that a task has created. */
export const nodesForTaskRoutes = (reads: ExecutionReads, tasks: ParentTasks): readonly Route[] => [
  route(AdminService.method.listNodeExecutionsForTask, (request, call) =>
    listNodesForTask(reads, tasks, request, call),
  ),
];
