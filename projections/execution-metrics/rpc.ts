import { create } from '@bufbuild/protobuf';

import {
  type WorkflowExecutionGetMetricsRequest,
  type WorkflowExecutionGetMetricsResponse,
  WorkflowExecutionGetMetricsResponseSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { accessOf } from '../../services/kernel/permitted.js';
import { type Call, type Route, route } from '../../services/kernel/rpc.js';
import { completeExecutionId } from '../query/execution-identifiers.js';
import { apiCaller } from './api-caller.js';
import { MAX_NODES } from './reads.js';
import { workflowSpan } from './spans.js';

/**
 * Maximum number of levels, which few executions have. A level is at most two spans deep, so that the answer stays
 * within the 100 nested messages that decoders accept.
 */
const MAX_DEPTH = 40;

const metrics = async (
  reads: readonly Route[],
  request: WorkflowExecutionGetMetricsRequest,
  call: Call,
): Promise<WorkflowExecutionGetMetricsResponse> => {
  const id = completeExecutionId(request.id);
  const callApi = apiCaller(reads, call);
  const execution = await callApi(AdminService.method.getExecution, { id });
  const depth = request.depth < 0 ? MAX_DEPTH : Math.min(request.depth, MAX_DEPTH);
  const mayRead = (project: string, domain: string): boolean => accessOf(call).may('read', project, domain);
  const span = await workflowSpan({ callApi, mayRead, left: MAX_NODES }, execution, depth);
  return create(WorkflowExecutionGetMetricsResponseSchema, { span });
};

/** Routes of the execution metrics, which are computed from the other reads. */
export const executionMetricsRoutes = (reads: readonly Route[]): readonly Route[] => [
  route(AdminService.method.getExecutionMetrics, (request, call) => metrics(reads, request, call)),
];
