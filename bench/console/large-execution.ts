import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { NodeExecution_Phase, TaskExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { ReportRequestSchema } from '../../proto/gen/platformidl/eventlog/engine_report_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { GrpcClient } from '../../test/support/clients/grpc-client.js';
import { HELLO_TASK } from '../../test/support/requests/reports.js';
import { wideWorkflow } from '../../test/support/requests/wide-workflow.js';
import { REPORT_PATH } from '../writes/ingest-stream.js';
import { writeFrames } from '../load/frames.js';
import { generateStreams } from '../load/processes.js';
import { DOMAIN, PROJECT } from '../load/workload.js';

/** The name of the execution. */
export const LARGE = 'large';
/** The number of events that are reported of each node. */
export const EVENTS_A_NODE = 6;

/** Number of chains of nodes in the workflow, which run at the same time. */
const CHAINS = 100;
/**
 * Nodes of one round: more than reports are in flight, so that no two reports in flight are of the same node, except in
 * a last round of fewer nodes.
 */
const ROUND = 1_024;
const STEP_MS = 1_000;
const START = Date.UTC(2026, 0, 1);

type Report = NonNullable<Extract<MessageInitShape<typeof ReportRequestSchema>, { $typeName?: never }>['event']>;

const executionId = { project: PROJECT, domain: DOMAIN, name: LARGE };

const nodePhase =
  (phase: NodeExecution_Phase) =>
  (nodeId: string, atMs: number): Report => ({
    case: 'nodeEvent',
    value: {
      event: {
        ...{ id: { nodeId, executionId }, specNodeId: nodeId, nodeName: nodeId, phase, producerId: 'propeller' },
        ...{ occurredAt: timestampFromMs(atMs), eventVersion: 1, retryGroup: '0' },
      },
    },
  });

const taskPhase =
  (phase: TaskExecution_Phase) =>
  (nodeId: string, atMs: number): Report => ({
    case: 'taskEvent',
    value: {
      event: {
        ...{ parentNodeExecutionId: { nodeId, executionId }, taskId: HELLO_TASK, taskType: 'python-task', phase },
        ...{ occurredAt: timestampFromMs(atMs), eventVersion: 1, producerId: 'propeller' },
      },
    },
  });

/** The reports of a node with one attempt, in their order. */
const STEPS = [
  nodePhase(NodeExecution_Phase.QUEUED),
  nodePhase(NodeExecution_Phase.RUNNING),
  taskPhase(TaskExecution_Phase.QUEUED),
  taskPhase(TaskExecution_Phase.RUNNING),
  taskPhase(TaskExecution_Phase.SUCCEEDED),
  nodePhase(NodeExecution_Phase.SUCCEEDED),
];

/** The time of a step in milliseconds since 1970: chains run concurrently, the nodes of a chain one after another. */
const timeOf = (node: number, step: number): number =>
  START + (Math.floor(node / CHAINS) * STEPS.length + step) * STEP_MS + (node % CHAINS);

const reportsOf = (nodes: number): Uint8Array[] => {
  const reports: Uint8Array[] = [];
  const add = (event: Report): void => {
    const sequence = BigInt(reports.length + 1);
    reports.push(toBinary(ReportRequestSchema, create(ReportRequestSchema, { sequence, event })));
  };
  for (let first = 0; first < nodes; first += ROUND)
    for (const [step, report] of STEPS.entries())
      for (let node = first; node < Math.min(nodes, first + ROUND); node += 1)
        add(report(`n${node}`, timeOf(node, step)));
  return reports;
};

/** Registers a workflow of `nodes` nodes, launches it, and reports six events of each node. */
export const runLargeExecution = async (
  client: GrpcClient,
  { address, framesFile, nodes }: { readonly address: string; readonly framesFile: string; readonly nodes: number },
): Promise<void> => {
  const { method } = AdminService;
  const workflow = wideWorkflow('v1', nodes, CHAINS);
  const plan = { ...workflow.id, resourceType: ResourceType.LAUNCH_PLAN };
  await client.call(method.createWorkflow, workflow);
  await client.call(method.createLaunchPlan, { id: plan, spec: { workflowId: workflow.id } });
  await client.call(method.createExecution, { ...executionId, spec: { launchPlan: plan } });
  const reports = reportsOf(nodes);
  writeFrames(framesFile, reports);
  const shares = [{ from: 0, count: reports.length }];
  const { failures } = await generateStreams({ address, path: REPORT_PATH, framesFile, shares, inFlight: 512 });
  if (failures > 0) throw new Error(`${failures} events were not recorded`);
};
