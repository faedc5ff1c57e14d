import type { ExecutionMetadata } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type {
  NodeExecutionIdentifier,
  WorkflowExecutionIdentifier,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { metadataOf } from '../kernel/event.js';
import type { EventLog } from '../kernel/event-store.js';
import { missing } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/sessions.js';
import { type ExecutionAggregate, executionStream } from './aggregate.js';
import type { ExecutionId } from './envelope.js';
import { executionCodec } from './events.js';
import { executionAbsent, nodeAbsent } from './rpc-refusals.js';

export type LineageServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
};

/** The id of an execution, when it is complete. */
export const executionIdOf = (id: WorkflowExecutionIdentifier | undefined): ExecutionId => {
  if (id === undefined) throw missing('id');
  if (id.project === '') throw missing('project');
  if (id.domain === '') throw missing('domain');
  if (id.name === '') throw missing('name');
  return { project: id.project, domain: id.domain, name: id.name };
};

/**
 * The event that an execution began with.
 *
 * @throws {RpcError} NOT_FOUND when there is no such execution.
 */
export const beginningOf = async ({ log }: LineageServices, id: ExecutionId): Promise<ExecutionCreated> => {
  for await (const [first] of log.readStream(executionStream(id), { limit: 1 })) {
    if (first === undefined) continue;
    const event = executionCodec.decode(first.type, first.data, metadataOf(first).schema);
    if (event.type === 'ExecutionCreated') return event.data;
  }
  throw executionAbsent(id);
};

const assertNode = async (
  { sessions, aggregate }: LineageServices,
  { nodeId, executionId }: NodeExecutionIdentifier,
): Promise<ExecutionId> => {
  const id = executionIdOf(executionId);
  const { state } = await sessions.read(aggregate, executionStream(id));
  if (!state.nodes.has(nodeId)) throw nodeAbsent(id, nodeId);
  return id;
};

/** What a child takes over from the execution that launches it. */
export type Inherited = {
  readonly principal: string | undefined;
  readonly nesting: number | undefined;
  readonly clusterLabel: string | undefined;
};

/**
 * Looks up the node that launches an execution.
 *
 * @throws {RpcError} NOT_FOUND when that node is not there.
 */
export const inheritanceOf = async (
  services: LineageServices,
  metadata: ExecutionMetadata | undefined,
): Promise<Inherited> => {
  const parent = metadata?.parentNodeExecution;
  if (parent === undefined) return { principal: undefined, nesting: undefined, clusterLabel: undefined };
  const { spec } = await beginningOf(services, await assertNode(services, parent));
  return {
    principal: spec?.metadata?.principal,
    nesting: (spec?.metadata?.nesting ?? 0) + 1,
    clusterLabel: spec?.executionClusterLabel?.value,
  };
};
