import {
  type ExecutionMetadata,
  ExecutionMetadata_ExecutionMode as Mode,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecutionIdentifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate } from '../aggregate.js';
import { missing } from '../../kernel/rpc.js';
import { readCreation } from '../creation.js';
import { executionAbsent, nodeAbsent, executionIdOf } from '../execution-id.js';
import { executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type LineageServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
};

/**
 * Reads the `ExecutionCreated` event of an execution.
 *
 * @throws {RpcError} NOT_FOUND when there is no such execution.
 */
export const createdEventOf = async ({ log }: LineageServices, id: ExecutionId): Promise<ExecutionCreated> => {
  const creation = await readCreation(log, id);
  if (creation === undefined) throw executionAbsent(id);
  return creation.created;
};

const assertNode = async (
  { sessions, aggregate }: LineageServices,
  { nodeId, executionId }: NodeExecutionIdentifier,
): Promise<ExecutionId> => {
  const field = 'spec.metadata.parent_node_execution';
  const id = executionIdOf(executionId, `${field}.execution_id`);
  if (nodeId === '') throw missing(`node_id of ${field}`);
  const hasNode = await sessions.read(aggregate, executionStream(id), ({ state }) => state.nodes.has(nodeId));
  if (!hasNode) throw nodeAbsent(id, nodeId);
  return id;
};

/**
 * Checks the execution that an execution recovers from: engines read its nodes by this id. An empty message names none,
 * and is removed. Whether the execution exists is not looked up.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a part of the id is missing.
 */
export const checkReference = (metadata: ExecutionMetadata | undefined): void => {
  const reference = metadata?.referenceExecution;
  if (metadata?.mode !== Mode.RECOVERED || reference === undefined) return;
  const { project, domain, name } = reference;
  if (project === '' && domain === '' && name === '') delete metadata.referenceExecution;
  else executionIdOf(reference, 'spec.metadata.reference_execution');
};

/** The maximum of a uint32, the type of the field `nesting`. Clients may have sent any number for the parent. */
const MAX_NESTING = 2 ** 32 - 1;

/** The values that a child inherits from the execution that launches it. */
export type Inherited = {
  readonly principal: string | undefined;
  readonly nesting: number | undefined;
  readonly clusterLabel: string | undefined;
};

/**
 * Looks up the parent node of an execution and what is inherited from its execution.
 *
 * @returns only undefined fields when the execution has no parent node.
 * @throws {RpcError} INVALID_ARGUMENT when the parent's id is incomplete; NOT_FOUND when the parent node does
 *   not exist.
 */
export const inheritanceOf = async (
  services: LineageServices,
  metadata: ExecutionMetadata | undefined,
): Promise<Inherited> => {
  const parent = metadata?.parentNodeExecution;
  if (parent === undefined) return { principal: undefined, nesting: undefined, clusterLabel: undefined };
  const { spec } = await createdEventOf(services, await assertNode(services, parent));
  return {
    principal: spec?.metadata?.principal,
    nesting: Math.min((spec?.metadata?.nesting ?? 0) + 1, MAX_NESTING),
    clusterLabel: spec?.executionClusterLabel?.value,
  };
};
