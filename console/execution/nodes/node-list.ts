import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { nodePhase, toneOf } from '../../look/phases.js';
import { call } from '../../server/call.js';
import { allPages } from '../../server/pages.js';
import type { ExecutionAsOf } from '../moment.js';
import { type Children, idOf } from './tree.js';

const PAGE_NODES = 5_000;

/** Reads the nodes below a parent, or those of the execution itself, by the empty id. */
export const nodesBelow = (
  { id, asOf }: ExecutionAsOf,
  uniqueParentId: string,
  signal: AbortSignal,
): Promise<readonly NodeExecution[]> =>
  allPages(
    (token) =>
      call(
        AdminService.method.listNodeExecutions,
        { workflowExecutionId: id, uniqueParentId, limit: PAGE_NODES, token, asOf },
        signal,
      ),
    ({ nodeExecutions }) => nodeExecutions,
  );

/**
 * True for a parent whose nodes are shown. A failed or failing parent is open at first, others are closed; `toggledIds`
 * has the ids of those that the user has opened or closed against this default.
 */
const isOpen = (node: NodeExecution, toggledIds: readonly string[]): boolean =>
  node.metadata?.isParentNode === true &&
  (toneOf(nodePhase(node.closure?.phase)) === 'bad') !== toggledIds.includes(idOf(node));

/** Reads the nodes of an execution, and those below each open parent. */
export const readTree = async (
  seen: ExecutionAsOf,
  toggledIds: readonly string[],
  signal: AbortSignal,
): Promise<Children> => {
  const children = new Map<string, readonly NodeExecution[]>();
  const read = async (parent: string): Promise<void> => {
    const nodes = await nodesBelow(seen, parent, signal);
    children.set(parent, nodes);
    await Promise.all(nodes.filter((node) => isOpen(node, toggledIds)).map((node) => read(idOf(node))));
  };
  await read('');
  return children;
};
