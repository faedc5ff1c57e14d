import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { nodePhase, toneOf } from '../../look/phases.js';
import type { NodeLevels } from './node-levels.js';
import { type Children, idOf } from './tree.js';

/**
 * True for a parent whose nodes are shown. A failed or failing parent is open at first, others are closed; `toggledIds`
 * has the ids of those that the user has opened or closed against this default.
 */
const isOpen = (node: NodeExecution, toggledIds: readonly string[]): boolean =>
  node.metadata?.isParentNode === true &&
  (toneOf(nodePhase(node.closure?.phase)) === 'bad') !== toggledIds.includes(idOf(node));

/** Reads the nodes of an execution, and those below each open parent. */
export const readTree = async (
  below: (parent: string) => ReturnType<NodeLevels['read']>,
  toggledIds: readonly string[],
): Promise<Children> => {
  const children = new Map<string, readonly NodeExecution[]>();
  const read = async (parent: string): Promise<void> => {
    const nodes = await below(parent);
    children.set(parent, nodes);
    await Promise.all(nodes.filter((node) => isOpen(node, toggledIds)).map((node) => read(idOf(node))));
  };
  await read('');
  return children;
};
