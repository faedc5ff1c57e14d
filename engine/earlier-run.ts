import { type NodeExecution, type NodeExecutionClosure } from '../proto/gen/platformidl/admin/node_execution_pb.js';
import { type TaskExecution } from '../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  TaskExecution_Phase as TaskPhase,
  type WorkflowExecution_Phase,
} from '../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from './client.js';
import { createLedger, isNodeEnd, isTaskEnd, type Ledger, taskKey } from './walk/ledger.js';
import { type EarlierState, type EarlierNode } from './walk/run.js';

const { listNodeExecutions, listTaskExecutions } = AdminService.method;
const PAGE = 500;

/** State of an execution that an earlier walk has left. */
export type EarlierRun = { readonly known: EarlierState; readonly ledger: Ledger };

/** The state of an execution in this phase of which no engine has reported anything. */
export const noEarlierRun = (workflowPhase: WorkflowExecution_Phase): EarlierRun => ({
  known: { workflowPhase, nodes: new Map(), tasks: new Map() },
  ledger: createLedger(),
});

type Reading = {
  readonly client: InterfaceClient;
  readonly id: WorkflowExecutionIdentifier;
  readonly nodes: Map<string, EarlierNode>;
  readonly tasks: Map<string, TaskPhase>;
  readonly ledger: Ledger;
};

/** Reads all pages of a list. */
const allPages = async <Page extends { readonly token: string }>(
  read: (token: string) => Promise<Page>,
): Promise<readonly Page[]> => {
  const pages: Page[] = [];
  let token = '';
  do {
    const page = await read(token);
    pages.push(page);
    token = page.token;
  } while (token);
  return pages;
};

const nodesUnder = async ({ client, id }: Reading, uniqueParentId: string): Promise<readonly NodeExecution[]> => {
  const request = { workflowExecutionId: id, uniqueParentId, limit: PAGE };
  const pages = await allPages((token) => client.call(listNodeExecutions, { ...request, token }));
  return pages.flatMap(({ nodeExecutions }) => nodeExecutions);
};

const tasksOf = async ({ client, id }: Reading, nodeId: string): Promise<readonly TaskExecution[]> => {
  const request = { nodeExecutionId: { executionId: id, nodeId }, limit: PAGE };
  const pages = await allPages((token) => client.call(listTaskExecutions, { ...request, token }));
  return pages.flatMap(({ taskExecutions }) => taskExecutions);
};

const readTasks = async (reading: Reading, nodeId: string): Promise<void> => {
  for (const { id, closure } of await tasksOf(reading, nodeId)) {
    const attempt = id?.retryAttempt ?? 0;
    const phase = closure?.phase ?? TaskPhase.UNDEFINED;
    reading.tasks.set(taskKey(nodeId, attempt), phase);
    if (id?.taskId && !isTaskEnd(phase)) reading.ledger.openTask({ nodeId, taskId: id.taskId, attempt });
  }
};

const childOf = ({ targetMetadata }: NodeExecutionClosure): WorkflowExecutionIdentifier | undefined =>
  targetMetadata.case === 'workflowNodeMetadata' ? targetMetadata.value.executionId : undefined;

const knownNode = ({ phase, outputResult }: NodeExecutionClosure): EarlierNode =>
  outputResult.case === 'error' ? { phase, error: outputResult.value } : { phase };

/**
 * Reads one node. Of an ended node only the phase and error are needed; an open node is read with its tasks and the
 * nodes below it.
 */
const readNode = async (reading: Reading, parent: string, node: NodeExecution): Promise<void> => {
  const { id, closure, metadata } = node;
  if (!id || !closure) return;
  const { nodeId } = id;
  reading.nodes.set(nodeId, knownNode(closure));
  if (isNodeEnd(closure.phase)) return;
  const { specNodeId = nodeId, retryGroup = '', isParentNode = false } = metadata ?? {};
  reading.ledger.openNode({ id: nodeId, specNodeId, retryGroup, parent });
  const child = childOf(closure);
  if (child) reading.ledger.noteChild(nodeId, child);
  await readTasks(reading, nodeId);
  if (isParentNode) await readUnder(reading, nodeId);
};

const readUnder = async (reading: Reading, parent: string): Promise<void> => {
  for (const node of await nodesUnder(reading, parent)) await readNode(reading, parent, node);
};

/** Reads the node and task executions of an execution, so that a walk can continue from them. */
export const readEarlierRun = async (
  client: InterfaceClient,
  id: WorkflowExecutionIdentifier,
  workflowPhase: WorkflowExecution_Phase,
): Promise<EarlierRun> => {
  const ledger = createLedger();
  const reading: Reading = { client, id, nodes: new Map(), tasks: new Map(), ledger };
  await readUnder(reading, '');
  return { known: { workflowPhase, nodes: reading.nodes, tasks: reading.tasks }, ledger };
};
