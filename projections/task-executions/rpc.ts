import { create, fromBinary } from '@bufbuild/protobuf';
import { type FlyteURLs, FlyteURLsSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import {
  type TaskExecution,
  type TaskExecutionGetDataResponse,
  TaskExecutionGetDataResponseSchema,
  type TaskExecutionListRequest,
  TaskExecutionSchema,
} from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Call, type Route, route } from '../../services/kernel/rpc.js';
import type { ExecutionReads } from '../query/execution-reads.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import { type CallContents, contentsFor } from '../query/recorded-contents.js';
import { UNSIGNED_URLS } from '../query/unsigned-urls.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { executionStreamPrefix, nodeExecutionKey, nodeIdOf } from '../query/execution-identifiers.js';
import { taskExecutionCollection, taskExecutionColumns } from './columns.js';
import { inputsOf, outputsOf } from './data.js';
import { findTask } from './find.js';
import { executionStream } from '../../services/kernel/execution-id.js';

/** The `flyte://` URLs by which clients refer to the inputs and the outputs of an attempt. */
const urlsOf = ({ id }: TaskExecution): FlyteURLs => {
  const { nodeId = '', executionId } = id?.nodeExecutionId ?? {};
  const { project = '', domain = '', name = '' } = executionId ?? {};
  const base = `flyte://v1/${project}/${domain}/${name}/${nodeId}/${id?.retryAttempt ?? 0}`;
  return create(FlyteURLsSchema, { inputs: `${base}/i`, outputs: `${base}/o` });
};

const dataOf = async (contents: CallContents, document: StoredDocument): Promise<TaskExecutionGetDataResponse> => {
  const task = fromBinary(TaskExecutionSchema, document.response);
  const [fullInputs, fullOutputs] = await Promise.all([
    inputsOf(contents, document, task),
    outputsOf(contents, document, task),
  ]);
  return create(TaskExecutionGetDataResponseSchema, {
    ...UNSIGNED_URLS,
    ...(fullInputs && { fullInputs }),
    ...(fullOutputs && { fullOutputs }),
    flyteUrls: urlsOf(task),
    logs: task.closure?.logs ?? [],
  });
};

/** Lists a page of the attempts of one node; empty for a node that does not exist. */
const list = async (
  { store, entities, freshness }: ExecutionReads,
  request: TaskExecutionListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const { nodeId, executionId } = nodeIdOf(request.nodeExecutionId, 'node_execution_id');
  await freshness.waitForPrefix(
    call,
    executionStreamPrefix(executionId.project, executionId.domain),
    taskExecutionCollection,
  );
  const listed: Listed = {
    rpc: 'ListTaskExecutions',
    store,
    collection: taskExecutionCollection,
    columns: taskExecutionColumns,
    entities,
    order: { field: 'created_at', direction: 'ascending' },
  };
  const node = nodeExecutionKey(executionStream(executionId), nodeId);
  const page = await listPage(listed, { where: [{ field: 'node', is: '=', value: node }] }, request);
  return listMessage(page);
};

export const taskExecutionsRoutes = (reads: ExecutionReads): readonly Route[] => [
  route(AdminService.method.getTaskExecution, async ({ id }, call) => (await findTask(reads, id, call)).response),
  route(AdminService.method.listTaskExecutions, (request, call) => list(reads, request, call)),
  route(AdminService.method.getTaskExecutionData, async ({ id }, call) =>
    dataOf(contentsFor(reads.contents, call), await findTask(reads, id, call)),
  ),
];
