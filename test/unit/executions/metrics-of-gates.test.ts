import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { executionMetricsRoutes } from '../../../projections/execution-metrics/rpc.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type NodeExecutionClosureSchema,
  NodeExecutionListSchema,
} from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { WorkflowSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type Call, route } from '../../../services/kernel/rpc.js';

const executionId = { project: 'p', domain: 'd', name: 'run' };
const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });

type Closure = Omit<MessageInitShape<typeof NodeExecutionClosureSchema>, '$typeName'>;

/** The reads of an execution with one node, a gate. */
const readsOf = (closure: Closure) => [
  route(AdminService.method.getExecution, () =>
    Promise.resolve(
      create(ExecutionSchema, { id: executionId, closure: { createdAt: at(1), updatedAt: at(9), workflowId: {} } }),
    ),
  ),
  route(AdminService.method.getWorkflow, () => {
    const node = { id: 'gate', target: { case: 'gateNode' as const, value: {} } };
    return Promise.resolve(
      create(WorkflowSchema, { closure: { compiledWorkflow: { primary: { template: { nodes: [node] } } } } }),
    );
  }),
  route(AdminService.method.listNodeExecutions, () => {
    const start = { id: { nodeId: 'start-node', executionId }, closure: { createdAt: at(1), updatedAt: at(2) } };
    return Promise.resolve(
      create(NodeExecutionListSchema, { nodeExecutions: [start, { id: { nodeId: 'gate', executionId }, closure }] }),
    );
  }),
];

const secondsOf = ({ id, startTime, endTime }: Span) => [
  id.value,
  Number(startTime?.seconds),
  Number(endTime?.seconds),
];

it.each<readonly [string, Closure, readonly (readonly [string, number, number])[]]>([
  ['has not started', { createdAt: at(3), updatedAt: at(4) }, [['NODE_SETUP', 3, 4]]],
  [
    'still waits for its signal',
    { createdAt: at(3), startedAt: at(4), updatedAt: at(6) },
    [
      ['NODE_SETUP', 3, 4],
      ['NODE_IDLE', 4, 6],
    ],
  ],
  [
    'has ended',
    { createdAt: at(3), startedAt: at(4), duration: at(3), updatedAt: at(8) },
    [
      ['NODE_SETUP', 3, 4],
      ['NODE_IDLE', 4, 7],
      ['NODE_TEARDOWN', 7, 8],
    ],
  ],
])('the time of a gate that %s', async (_, closure, expected) => {
  const [metrics] = executionMetricsRoutes(readsOf(closure));
  const call = { principal: 'p', requestId: 'r', isCancelled: () => false } as Call;
  const answer = (await metrics?.handle({ id: executionId, depth: -1 /* all levels */ } as never, call)) as {
    readonly span?: Span;
  };
  const gate = answer.span?.spans.find(({ id }) => id.case === 'nodeId');
  expect(gate?.spans.map(secondsOf)).toEqual(expected);
});
