import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { nodePhase, toneOf } from '../../look/phases.js';
import type { NodeLevels } from './node-levels.js';
import { type Children, idOf } from './tree.js';

/** The parents that a person has opened (true) or closed, by their ids. */
export type OpenParents = ReadonlyMap<string, boolean>;

/** Opens or closes a parent. */
export type SetOpen = (nodeId: string, isOpen: boolean) => void;

/** True for a parent whose nodes are shown: as the person has chosen, otherwise when it has failed or is failing. */
const isShownOpen = (node: NodeExecution, chosen: OpenParents): boolean =>
  node.metadata?.isParentNode === true && (chosen.get(idOf(node)) ?? toneOf(nodePhase(node.closure?.phase)) === 'bad');

/** Reads the nodes of an execution, and those below each open parent. */
export const readTree = async (
  below: (parent: string) => ReturnType<NodeLevels['read']>,
  chosen: OpenParents,
): Promise<Children> => {
  const children = new Map<string, readonly NodeExecution[]>();
  const read = async (parent: string): Promise<void> => {
    const nodes = await below(parent);
    children.set(parent, nodes);
    await Promise.all(nodes.filter((node) => isShownOpen(node, chosen)).map((node) => read(idOf(node))));
  };
  await read('');
  return children;
};
