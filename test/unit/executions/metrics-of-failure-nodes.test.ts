import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { executionMetricsRoutes } from '../../../projections/execution-metrics/rpc.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionListSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { TaskExecutionListSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import { WorkflowSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type Call, route } from '../../../services/kernel/rpc.js';

const executionId = { project: 'p', domain: 'd', name: 'run' };
const closure = { createdAt: { seconds: 1n, nanos: 0 }, updatedAt: { seconds: 9n, nanos: 0 } };
const nodeExecution = (nodeId: string) => ({ id: { nodeId, executionId }, closure });

/** The reads of a failed execution whose failure node has run one attempt of its task. */
const reads = [
  route(AdminService.method.getExecution, () =>
    Promise.resolve(create(ExecutionSchema, { id: executionId, closure: { ...closure, workflowId: {} } })),
  ),
  route(AdminService.method.getWorkflow, () => {
    const failureNode = { id: 'fn0', target: { case: 'taskNode' as const, value: {} } };
    return Promise.resolve(
      create(WorkflowSchema, { closure: { compiledWorkflow: { primary: { template: { failureNode } } } } }),
    );
  }),
  route(AdminService.method.listNodeExecutions, () =>
    Promise.resolve(
      create(NodeExecutionListSchema, { nodeExecutions: [nodeExecution('start-node'), nodeExecution('fn0')] }),
    ),
  ),
  route(AdminService.method.listTaskExecutions, ({ nodeExecutionId }) => {
    const id = { taskId: { name: 'apologise' }, ...(nodeExecutionId && { nodeExecutionId }) };
    return Promise.resolve(create(TaskExecutionListSchema, { taskExecutions: [{ id, closure }] }));
  }),
];

it('the time of a failure node has the attempts of its task', async () => {
  const [metrics] = executionMetricsRoutes(reads);
  const call = { principal: 'p', requestId: 'r', isCancelled: () => false } as Call;
  const answer = (await metrics?.handle({ id: executionId, depth: -1 /* all levels */ } as never, call)) as {
    readonly span?: Span;
  };
  const node = answer.span?.spans.find(({ id }) => id.case === 'nodeId');
  const names = node?.spans.map(({ id }) => (id.case === 'taskId' ? id.value.taskId?.name : id.value));
  expect(names).toEqual(['NODE_SETUP', 'apologise', 'NODE_TEARDOWN']);
});
