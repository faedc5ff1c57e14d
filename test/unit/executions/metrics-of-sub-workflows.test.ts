import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { executionMetricsRoutes } from '../../../projections/execution-metrics/rpc.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionListSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { WorkflowSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { UNLIMITED } from '../../../services/kernel/access.js';
import { type Call, route } from '../../../services/kernel/rpc.js';

const times = { createdAt: { seconds: 1n, nanos: 0 }, updatedAt: { seconds: 9n, nanos: 0 } };
const workflowIn = (project: string) => ({ project, domain: 'd', name: 'sub', version: 'v1' });

const outer = {
  id: 'n',
  target: {
    case: 'workflowNode' as const,
    value: { reference: { case: 'subWorkflowRef' as const, value: workflowIn('own') } },
  },
};
const gate = { id: 'inner', target: { case: 'gateNode' as const, value: {} } };

/** Reads of an execution with a node of the sub-workflow `sub` of project `own`; `other` has one of that name. */
const reads = [
  route(AdminService.method.getExecution, ({ id }) =>
    Promise.resolve(create(ExecutionSchema, { ...(id && { id }), closure: { ...times, workflowId: {} } })),
  ),
  route(AdminService.method.getWorkflow, () => {
    const subWorkflows = [
      { template: { id: workflowIn('other') } },
      { template: { id: workflowIn('own'), nodes: [gate] } },
    ];
    const compiledWorkflow = { primary: { template: { nodes: [outer] } }, subWorkflows };
    return Promise.resolve(create(WorkflowSchema, { closure: { compiledWorkflow } }));
  }),
  route(AdminService.method.listNodeExecutions, ({ workflowExecutionId: executionId, uniqueParentId }) => {
    const node = (nodeId: string, specNodeId: string) => ({
      id: { nodeId, ...(executionId && { executionId }) },
      metadata: { specNodeId },
      closure: times,
    });
    const nodeExecutions =
      uniqueParentId === '' ? [node('start-node', 'start-node'), node('n', 'n')] : [node('n-0-inner', 'inner')];
    return Promise.resolve(create(NodeExecutionListSchema, { nodeExecutions }));
  }),
];

const spansOf = (span: Span | undefined, nodeId: string): readonly Span[] => {
  const own = span?.id.case === 'nodeId' && span.id.value.nodeId === nodeId ? span.spans : [];
  return [...own, ...(span?.spans ?? []).flatMap((each) => spansOf(each, nodeId))];
};

it('the time of a node follows the sub-workflow of its own project, not one of the same name in another', async () => {
  const [metrics] = executionMetricsRoutes(reads);
  const call = { principal: 'p', requestId: 'r', caller: { access: UNLIMITED }, isCancelled: () => false } as Call;
  const id = { project: 'own', domain: 'd', name: 'x' };
  const answer = (await metrics?.handle({ id, depth: -1 /* all levels */ } as never, call)) as { readonly span?: Span };
  expect(spansOf(answer.span, 'n-0-inner').map(({ id: of }) => of.value)).toEqual(['NODE_SETUP']);
});
