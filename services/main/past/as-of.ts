import type { MessageInitShape } from '@bufbuild/protobuf';
import { executions } from '../../../projections/executions/projection.js';
import { executionsRoutes } from '../../../projections/executions/rpc.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { nodeExecutionsRoutes, nodesForTaskRoutes } from '../../../projections/node-executions/rpc.js';
import type { Freshness } from '../../../projections/query/freshness.js';
import type { NeededPrefix } from '../../../projections/query/kept-prefixes.js';
import type { RecordedContents } from '../../../projections/query/recorded-contents.js';
import { type ExecutionId, executionStream } from '../../kernel/execution-id.js';
import { completeExecutionId, nodeExecutionKey, nodeIdOf } from '../../../projections/query/execution-identifiers.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { DocumentReads } from '../../../projections/runtime/read-store.js';
import { findTask } from '../../../projections/task-executions/find.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import { taskExecutionsRoutes } from '../../../projections/task-executions/rpc.js';
import type { NodeExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Route } from '../../kernel/rpc.js';
import { entities } from '../models.js';

/**
 * The read models of executions, nodes and tasks. Their reads can be answered as of a moment of the past, because only
 * the stream of one execution is folded for that. The stream also feeds signals, whose reads take no moment.
 */
export const executionModels: readonly ReadModel<unknown>[] = [executions, nodeExecutions, taskExecutions];

type SentExecution = Partial<ExecutionId> | undefined;
type SentNode = Exclude<MessageInitShape<typeof NodeExecutionIdentifierSchema>, { readonly $typeName: string }>;

/** The identifiers in the requests of the reads, under the names of their fields. */
type PastRequest = {
  readonly id?: SentExecution & SentNode & { readonly nodeExecutionId?: SentNode };
  readonly workflowExecutionId?: SentExecution;
  readonly nodeExecutionId?: SentNode;
  readonly taskExecutionId?: { readonly nodeExecutionId?: SentNode };
  readonly filters?: string;
};

const streamOf = (sent: SentExecution, field?: string) =>
  executionStream(completeExecutionId(sent as ExecutionId, field));

const ofExecution = ({ id }: PastRequest): NeededPrefix => ({ stream: streamOf(id), models: [executions] });

const ofNode = ({ id }: PastRequest): NeededPrefix => {
  const { executionId, nodeId } = nodeIdOf(id as never);
  const stream = executionStream(executionId);
  const node = nodeExecutionKey(stream, nodeId);
  return { stream, models: [nodeExecutions], part: node, isWanted: (_, key) => key === node };
};

/** The attempts of one node; with the executions and nodes where a filter may name them. */
const ofAttempts = (sent: SentNode | undefined, filters = ''): NeededPrefix => {
  const { executionId, nodeId } = nodeIdOf(sent as never, 'node_execution_id');
  const stream = executionStream(executionId);
  const under = `${nodeExecutionKey(stream, nodeId)}/`;
  const { name } = taskExecutions.collection;
  const isWanted: NeededPrefix['isWanted'] = (collection, key) => collection !== name || key.startsWith(under);
  return { stream, models: filters === '' ? [taskExecutions] : executionModels, part: under, isWanted };
};

const ofNodes = ({ workflowExecutionId, filters = '' }: PastRequest): NeededPrefix => ({
  stream: streamOf(workflowExecutionId, 'execution_id'),
  models: filters === '' ? [nodeExecutions] : executionModels,
});

const ofNodesOfTask = ({ taskExecutionId }: PastRequest): NeededPrefix => ({
  stream: ofAttempts(taskExecutionId?.nodeExecutionId).stream,
  models: executionModels,
});

const ofTask = ({ id }: PastRequest): NeededPrefix => ofAttempts(id?.nodeExecutionId);

const NEEDS: Readonly<Partial<Record<keyof typeof AdminService.method, (request: PastRequest) => NeededPrefix>>> = {
  getExecution: ofExecution,
  getExecutionData: ofExecution,
  getNodeExecution: ofNode,
  getNodeExecutionData: ofNode,
  listNodeExecutions: ofNodes,
  listNodeExecutionsForTask: ofNodesOfTask,
  getTaskExecution: ofTask,
  getTaskExecutionData: ofTask,
  listTaskExecutions: ({ nodeExecutionId, filters }) => ofAttempts(nodeExecutionId, filters),
};

const isAsOf = (localName: string): localName is keyof typeof NEEDS => localName in NEEDS;

/** True for an RPC that takes a moment of the past, in its field `as_of`. */
export const acceptsAsOf = ({ method }: Route): boolean => isAsOf(method.localName);

/**
 * The part of a stream that a read needs.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the identifier that is missing.
 */
export const neededPrefix = ({ localName }: Route['method'], request: object): NeededPrefix => {
  const needs = isAsOf(localName) ? NEEDS[localName] : undefined;
  if (!needs) throw new Error(`${localName} takes no moment`);
  return needs(request);
};

/** Everything of the prefix is in the store: nothing is waited for, and nothing is unprojected. */
const folded: Freshness = {
  awaitAcknowledged: () => Promise.resolve(() => Promise.resolve([])),
  recorded: () => Promise.resolve(undefined),
  acknowledgedUnder: () => undefined,
  waitForPrefix: () => Promise.resolve(),
};

/** The entities that filters of these lists may name: the others have streams of their own. */
const ownEntities = new Map([...entities].filter(([name]) => name === 'execution' || name === 'node_execution'));

/** The routes of the reads of executions, nodes and tasks, over a store with the documents of a prefix. */
export const routesOver = (store: DocumentReads, contents: RecordedContents): readonly Route[] => {
  const reads = { store, contents, freshness: folded, entities: ownEntities };
  return [
    ...executionsRoutes(reads),
    ...nodeExecutionsRoutes(reads),
    ...nodesForTaskRoutes(reads, { keyOf: async (id, call) => (await findTask(reads, id, call)).key }),
    ...taskExecutionsRoutes(reads),
  ];
};
