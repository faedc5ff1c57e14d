import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { NodeExecutionEventRequestSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import {
  ExecutionCreateRequestSchema,
  type ExecutionMetadataSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { fixtureFolders } from '../../test/support/requests/fixtures.js';
import { type GrpcClient } from '../../test/support/clients/grpc-client.js';

/** Project and domain of the benchmarks' executions. */
export const PROJECT = 'flytesnacks';
export const DOMAIN = 'development';

const PHASES = [NodeExecution_Phase.QUEUED, NodeExecution_Phase.RUNNING, NodeExecution_Phase.SUCCEEDED];
/**
 * The nodes of a round: each phase is reported for all of them before the next phase. With far fewer calls in flight,
 * two of them are hardly ever for the same node, except in a last round of fewer nodes.
 */
const NODES_IN_A_ROUND = 1_024;

/** Registers the entities that the executions run. */
export const registerHello = async (client: GrpcClient): Promise<void> => {
  const hello = fixtureFolders().find(({ name }) => name === '01-hello');
  for (const { service, method, bytes, kind } of hello?.entries ?? []) {
    if (kind !== 'execution') await client.raw(`/flyteidl.service.${service}/${method}`, bytes);
  }
};

/** Encodes a request that creates an execution, with the given metadata. */
export const createRequest = (
  name: string,
  metadata: MessageInitShape<typeof ExecutionMetadataSchema> = { principal: 'bench' },
): Uint8Array =>
  toBinary(
    ExecutionCreateRequestSchema,
    create(ExecutionCreateRequestSchema, {
      project: PROJECT,
      domain: DOMAIN,
      name,
      spec: {
        launchPlan: {
          resourceType: ResourceType.LAUNCH_PLAN,
          project: PROJECT,
          domain: DOMAIN,
          name: 'hello.hello',
          version: 'v1',
        },
        metadata,
      },
    }),
  );

/** Encodes requests that create `count` executions named by prefix and number. */
export const createRequests = (prefix: string, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => createRequest(`${prefix}-${index}`));

const uri = (execution: string, node: string, file: string): string =>
  `s3://a-bucket-of-the-usual-length/metadata/propeller/${PROJECT}-${DOMAIN}-${execution}/${node}/data/0/${file}`;

/** Encodes a request that reports a phase of a node. */
export const nodeEvent = (execution: string, node: string, phase: NodeExecution_Phase, atMs: number): Uint8Array =>
  toBinary(
    NodeExecutionEventRequestSchema,
    create(NodeExecutionEventRequestSchema, {
      requestId: `${PROJECT}-${DOMAIN}-${execution}-${node}-${phase}`,
      event: {
        id: { nodeId: node, executionId: { project: PROJECT, domain: DOMAIN, name: execution } },
        producerId: 'propeller',
        phase,
        occurredAt: timestampFromMs(atMs),
        reportedAt: timestampFromMs(atMs + 3),
        inputValue: { case: 'inputUri', value: uri(execution, node, 'inputs.pb') },
        ...(phase === NodeExecution_Phase.SUCCEEDED && {
          outputResult: {
            case: 'outputUri',
            value: uri(execution, node, 'outputs.pb'),
          },
        }),
        deckUri: uri(execution, node, 'deck.html'),
        specNodeId: node,
        nodeName: `a task with a name of the usual length, ${node}`,
        retryGroup: '0',
        eventVersion: 1,
        targetEntity: {
          resourceType: ResourceType.TASK,
          project: PROJECT,
          domain: DOMAIN,
          name: 'hello.greet',
          version: 'v1',
        },
      },
    }),
  );

/**
 * Encodes node events over all executions: three per node, in rounds of nodes.
 *
 * @returns the requests, `count` rounded up to three per node, and the number of nodes, which all end as SUCCEEDED.
 */
export const nodeEvents = (
  executions: readonly string[],
  count: number,
  nodesInARound = NODES_IN_A_ROUND,
): { requests: Uint8Array[]; nodes: number } => {
  const nodes = Math.ceil(count / PHASES.length);
  const requests: Uint8Array[] = [];
  const start = Date.UTC(2026, 0, 1);
  for (let first = 0; first < nodes; first += nodesInARound) {
    const round = Array.from({ length: Math.min(nodesInARound, nodes - first) }, (_, index) => first + index);
    for (const [step, phase] of PHASES.entries()) {
      for (const node of round) {
        const execution = executions[node % executions.length] ?? '';
        requests.push(
          nodeEvent(execution, `n${Math.floor(node / executions.length)}`, phase, start + node * 10 + step),
        );
      }
    }
  }
  return { requests, nodes };
};
