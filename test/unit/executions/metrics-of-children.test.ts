import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { executionMetricsRoutes } from '../../../projections/execution-metrics/rpc.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionListSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { WorkflowSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type Access, UNLIMITED } from '../../../services/kernel/access.js';
import { type Call, route } from '../../../services/kernel/rpc.js';

const createdAt = { seconds: 1n, nanos: 0 };
const updatedAt = { seconds: 9n, nanos: 0 };
const idIn = (project: string) => ({ project, domain: 'd', name: 'x' });

/** Reads of an execution of the project `own`, one node of which has started an execution of the project `other`. */
const reads = [
  route(AdminService.method.getExecution, ({ id }) =>
    Promise.resolve(create(ExecutionSchema, { ...(id && { id }), closure: { createdAt, updatedAt, workflowId: {} } })),
  ),
  route(AdminService.method.getWorkflow, () => {
    const node = { id: 'n', target: { case: 'workflowNode' as const, value: { reference: { case: undefined } } } };
    const compiledWorkflow = { primary: { template: { nodes: [node] } } };
    return Promise.resolve(create(WorkflowSchema, { closure: { compiledWorkflow } }));
  }),
  route(AdminService.method.listNodeExecutions, ({ workflowExecutionId: id }) => {
    const child = { case: 'workflowNodeMetadata' as const, value: { executionId: idIn('other') } };
    const times = { createdAt, updatedAt };
    const nodeExecutions = [
      { id: { nodeId: 'start-node', ...(id && { executionId: id }) }, closure: times },
      { id: { nodeId: 'n', ...(id && { executionId: id }) }, closure: { ...times, targetMetadata: child } },
    ];
    return Promise.resolve(
      create(NodeExecutionListSchema, { nodeExecutions: id?.project === 'own' ? nodeExecutions : [] }),
    );
  }),
];

/** The project of each execution that has a span. */
const projectsIn = (span: Span | undefined): readonly string[] => {
  const own = span?.id.case === 'workflowId' ? [span.id.value.project] : [];
  return [...own, ...(span?.spans ?? []).flatMap(projectsIn)];
};

it.each([
  ['has the execution that a node has started', UNLIMITED, ['own', 'other']],
  [
    'leaves out an execution of a project that the caller may not read',
    { ...UNLIMITED, may: (_: unknown, project: string) => project === 'own' },
    ['own'],
  ],
])('the time of an execution %s', async (_, access: Access, expected) => {
  const [metrics] = executionMetricsRoutes(reads);
  const call = { principal: 'p', requestId: 'r', caller: { access }, isCancelled: () => false } as Call;
  const answer = (await metrics?.handle({ id: idIn('own'), depth: -1 /* all levels */ } as never, call)) as {
    readonly span?: Span;
  };
  expect(projectsIn(answer.span)).toEqual(expected);
});
