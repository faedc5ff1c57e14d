import { create, toBinary } from '@bufbuild/protobuf';
import type { ResourceListRequest } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { WorkflowExecutionGetDataResponseSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { encodedField } from '../../services/kernel/encoding/field-bytes.js';
import { type Call, missing, type Route, route } from '../../services/kernel/rpc.js';
import { latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import { contentsFor } from '../query/recorded-contents.js';
import { UNSIGNED_URLS } from '../query/unsigned-urls.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { executionNotFound, completeExecutionId, executionStreamPrefix } from '../query/execution-identifiers.js';
import { executionCollection, executionColumns } from './columns.js';
import { inputsOf, outputsOf } from './data.js';
import { executionScope } from './matching.js';
import type { ExecutionReads } from '../query/execution-reads.js';
import { type ExecutionId, executionStream, executionText } from '../../services/kernel/execution-id.js';

const found = async (reads: ExecutionReads, sent: ExecutionId | undefined, call: Call): Promise<StoredDocument> => {
  const id = completeExecutionId(sent);
  const stream = executionStream(id);
  const document = await latestDocument(reads, call, executionCollection, { stream, key: stream });
  if (document === undefined) throw executionNotFound('execution', executionText(id));
  return document;
};

const list = async (
  { store, entities, freshness }: ExecutionReads,
  request: ResourceListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const { id } = request;
  if (id === undefined) throw missing('id');
  const { project, domain, name } = id;
  if (!project) throw missing('project');
  if (!domain) throw missing('domain');
  await freshness.waitForPrefix(call, executionStreamPrefix(project, domain), executionCollection);
  const listed: Listed = {
    rpc: 'ListExecutions',
    store,
    collection: executionCollection,
    columns: executionColumns,
    entities,
    order: { field: 'created_at', direction: 'descending' },
  };
  const page = await listPage(listed, executionScope({ project, domain, ...(name && { name }) }), request);
  return listMessage(page);
};

/** Routes of the reads of executions. */
export const executionsRoutes = (reads: ExecutionReads): readonly Route[] => [
  route(AdminService.method.getExecution, async ({ id }, call) => (await found(reads, id, call)).response),
  route(AdminService.method.listExecutions, (request, call) => list(reads, request, call)),
  route(AdminService.method.getExecutionData, async ({ id }, call) => {
    const document = await found(reads, id, call);
    const contents = contentsFor(reads.contents, call);
    const [fullInputs, fullOutputs] = await Promise.all([inputsOf(contents, document), outputsOf(contents, document)]);
    const data = create(WorkflowExecutionGetDataResponseSchema, {
      ...UNSIGNED_URLS,
      ...(fullOutputs && { fullOutputs }),
    });
    const { number } = WorkflowExecutionGetDataResponseSchema.field.fullInputs;
    if (fullInputs) data.$unknown = [encodedField(number, fullInputs)];
    // Returned as bytes, so that the encoded inputs are included without being decoded.
    return toBinary(WorkflowExecutionGetDataResponseSchema, data);
  }),
];
