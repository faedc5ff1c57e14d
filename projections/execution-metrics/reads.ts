import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecution } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { CompiledWorkflow, CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type {
  NodeExecutionIdentifier,
  WorkflowExecutionIdentifier,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Node } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { RpcError } from '../../services/kernel/rpc.js';
import { type Instant, latest } from '../query/times.js';
import type { CallApi } from './api-caller.js';

const { method } = AdminService;

/** The IDs of the nodes that every workflow has at its beginning and at its end. */
export const START_NODE = 'start-node';
export const END_NODE = 'end-node';

/** The reads for one timeline. */
export type MetricsReads = {
  readonly callApi: CallApi;
  /** True when the caller has the permission to read in a project and domain. */
  readonly mayRead: (project: string, domain: string) => boolean;
  /** The number of nodes and tasks that may still be read. */
  left: number;
};

/** The nodes under one parent, with the workflow that they are nodes of. */
export type NodesOfParent = {
  /** In the order of creation. */
  readonly nodes: readonly NodeExecution[];
  /** By the node's ID in the workflow; for nodes that were created more than once, the last. */
  readonly byId: ReadonlyMap<string, NodeExecution>;
  /** The definitions of the nodes in the workflow. */
  readonly definitions: ReadonlyMap<string, Node>;
  readonly workflow: CompiledWorkflow | undefined;
  readonly closure: CompiledWorkflowClosure | undefined;
};

const PAGE = 1_000;

/**
 * Limit of the nodes and tasks of one timeline: more are of no use to a reader, and this many take some tens of
 * megabytes of memory.
 */
export const MAX_NODES = 20_000;

const spend = (reads: MetricsReads, count: number): void => {
  reads.left -= count;
  if (reads.left < 0)
    throw new RpcError('RESOURCE_EXHAUSTED', `more than ${MAX_NODES} nodes and tasks: ask for fewer levels by depth`);
};

/** The ID of a node in its workflow. */
export const specIdOf = ({ id, metadata }: NodeExecution): string => {
  const { specNodeId = '' } = metadata ?? {};
  return specNodeId === '' ? (id?.nodeId ?? '') : specNodeId;
};

/** The nodes under a parent; with an empty parent ID, those of the execution itself. */
export const nodesUnder = async (
  reads: MetricsReads,
  workflowExecutionId: WorkflowExecutionIdentifier | undefined,
  uniqueParentId: string,
): Promise<readonly NodeExecution[]> => {
  const nodes: NodeExecution[] = [];
  if (workflowExecutionId === undefined) return nodes;
  let token = '';
  do {
    const request = { workflowExecutionId, uniqueParentId, limit: PAGE, token };
    const page = await reads.callApi(method.listNodeExecutions, request);
    spend(reads, page.nodeExecutions.length);
    nodes.push(...page.nodeExecutions);
    token = page.token;
  } while (token !== '');
  return nodes;
};

/** The attempts of a node's tasks, in ascending order. */
export const readAttempts = async (
  reads: MetricsReads,
  nodeExecutionId: NodeExecutionIdentifier | undefined,
): Promise<readonly TaskExecution[]> => {
  const attempts: TaskExecution[] = [];
  if (nodeExecutionId === undefined) return attempts;
  let token = '';
  do {
    const page = await reads.callApi(method.listTaskExecutions, { nodeExecutionId, limit: PAGE, token });
    spend(reads, page.taskExecutions.length);
    attempts.push(...page.taskExecutions);
    token = page.token;
  } while (token !== '');
  return attempts.toSorted((a, b) => (a.id?.retryAttempt ?? 0) - (b.id?.retryAttempt ?? 0));
};

const ifPresent = async <Value>(reading: Promise<Value>): Promise<Value | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
};

/** The registered workflow that an execution runs; `undefined` when it cannot be found. */
export const workflowOf = async (
  reads: MetricsReads,
  { closure }: Execution,
): Promise<CompiledWorkflowClosure | undefined> => {
  if (closure?.workflowId === undefined) return undefined;
  const found = await ifPresent(reads.callApi(method.getWorkflow, { id: closure.workflowId }));
  return found?.closure?.compiledWorkflow;
};

/** The workflow that a dynamic node has generated. */
export const dynamicOf = async (
  reads: MetricsReads,
  { id }: NodeExecution,
): Promise<CompiledWorkflowClosure | undefined> => {
  if (id === undefined) return undefined;
  return (await ifPresent(reads.callApi(method.getDynamicNodeWorkflow, { id })))?.compiledWorkflow;
};

/**
 * The execution that a node has started; `undefined` when there is none, or when the caller may not read it: it may be
 * of another project or domain than the node.
 */
export const readChild = async (reads: MetricsReads, { closure }: NodeExecution): Promise<Execution | undefined> => {
  const target = closure?.targetMetadata;
  const id = target?.case === 'workflowNodeMetadata' ? target.value.executionId : undefined;
  if (id === undefined || !reads.mayRead(id.project, id.domain)) return undefined;
  return ifPresent(reads.callApi(method.getExecution, { id }));
};

/** The nodes that a branch may choose. */
const choicesOf = ({ target }: Node): readonly Node[] => {
  const choice = target.case === 'branchNode' ? target.value.ifElse : undefined;
  if (choice === undefined) return [];
  const otherwise = choice.default.case === 'elseNode' ? [choice.default.value] : [];
  const blocks = choice.case === undefined ? choice.other : [choice.case, ...choice.other];
  return [...blocks.flatMap(({ thenNode }) => thenNode ?? []), ...otherwise];
};

/** Nodes with all nodes inside their branches, recursively. */
const withChoices = (nodes: readonly Node[]): readonly Node[] =>
  nodes.flatMap((node) => [node, ...withChoices(choicesOf(node))]);

/** All nodes of a workflow: its failure node is beside the others. */
const definedIn = (workflow: CompiledWorkflow | undefined): readonly Node[] => {
  const { nodes = [], failureNode } = workflow?.template ?? {};
  return withChoices(failureNode ? [...nodes, failureNode] : nodes);
};

/** Puts nodes together with the workflow that they are nodes of: by default the primary one of the closure. */
export const levelOf = (
  nodes: readonly NodeExecution[],
  closure: CompiledWorkflowClosure | undefined,
  workflow = closure?.primary,
): NodesOfParent => ({
  nodes,
  byId: new Map(nodes.map((node) => [specIdOf(node), node])),
  definitions: new Map(definedIn(workflow).map((node) => [node.id, node])),
  closure,
  workflow,
});

/** The definition of a node; `undefined` when the workflow does not have it. */
export const definitionOf = ({ definitions }: NodesOfParent, node: NodeExecution): Node | undefined =>
  definitions.get(specIdOf(node));

/** The last update of the upstream nodes of a node: once they have ended, the last end; `undefined` without any. */
export const upstreamEnd = ({ workflow, byId }: NodesOfParent, nodeId: string): Instant | undefined => {
  const ids = workflow?.connections?.upstream[nodeId]?.ids ?? [];
  const ends = ids.flatMap((id) => byId.get(id)?.closure?.updatedAt ?? []);
  const [first] = ends;
  return first && ends.reduce((end, each) => latest(end, each), first);
};
