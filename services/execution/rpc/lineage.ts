import type { ExecutionMetadata } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type {
  NodeExecutionIdentifier,
  WorkflowExecutionIdentifier,
} from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { missing } from '../../kernel/rpc.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import type { StreamName } from '../../kernel/stream.js';
import { type ExecutionAggregate, executionStream } from '../aggregate.js';
import type { ExecutionId } from '../wire/envelope.js';
import { type ExecutionEvent, executionCodec } from '../events.js';
import { executionAbsent, nodeAbsent } from './refusals.js';

export type LineageServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
};

/** The id of an execution, when it is complete; `path` is where it is in its request, unless it is the request's own. */
export const executionIdOf = (id: WorkflowExecutionIdentifier | undefined, path?: string): ExecutionId => {
  const place = path === undefined ? '' : ` of ${path}`;
  if (id === undefined) throw missing(`id${place}`);
  const { project, domain, name } = id;
  const empty = Object.entries({ project, domain, name }).find(([, value]) => value === '')?.[0];
  if (empty !== undefined) throw missing(`${empty}${place}`);
  return { project, domain, name };
};

const eventAt = async (
  log: LineageServices['log'],
  stream: StreamName,
  from: bigint,
): Promise<ExecutionEvent | undefined> => {
  for await (const [event] of log.readStream(stream, { from, limit: 1 }))
    if (event !== undefined) return decodeEvent(executionCodec, event);
  return undefined;
};

/**
 * The event that an execution began with.
 *
 * @throws {RpcError} NOT_FOUND when there is no such execution.
 */
export const beginningOf = async ({ log }: LineageServices, id: ExecutionId): Promise<ExecutionCreated> => {
  // One event at a time: it is the first, but for attempts that were kept from creating the execution.
  for (let from = 0n; ; from += 1n) {
    const event = await eventAt(log, executionStream(id), from);
    if (event?.type === 'ExecutionCreated') return event.data;
    if (event?.type !== 'ExecutionVoided') throw executionAbsent(id);
  }
};

const assertNode = async (
  { sessions, aggregate }: LineageServices,
  { nodeId, executionId }: NodeExecutionIdentifier,
): Promise<ExecutionId> => {
  const id = executionIdOf(executionId, 'spec.metadata.parent_node_execution.execution_id');
  const isThere = await sessions.read(aggregate, executionStream(id), ({ state }) => state.nodes.has(nodeId));
  if (!isThere) throw nodeAbsent(id, nodeId);
  return id;
};

/** The most that its field holds; a caller may claim any. */
const MAX_NESTING = 2 ** 32 - 1;

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
    nesting: Math.min((spec?.metadata?.nesting ?? 0) + 1, MAX_NESTING),
    clusterLabel: spec?.executionClusterLabel?.value,
  };
};
