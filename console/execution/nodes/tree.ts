import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { hasEnded, nodePhase } from '../../look/phases.js';
import { lengthOf, msOf } from '../../look/times.js';

/** A node in the tree, with its depth from 0. */
export type TreeRow = { readonly node: NodeExecution; readonly depth: number; readonly isOpen: boolean };

/** The children of nodes that were read, by the id of the parent; those of the execution by the empty id. */
export type Children = ReadonlyMap<string, readonly NodeExecution[]>;

export const idOf = (node: NodeExecution): string => node.id?.nodeId ?? '';

/** The id of a node in its workflow; its own, where the engine did not report it. */
export const specIdOf = (node: NodeExecution): string => {
  const { specNodeId = '' } = node.metadata ?? {};
  return specNodeId === '' ? idOf(node) : specNodeId;
};

/** True for the first and last node that the compiler adds to every workflow. */
const isAdded = (node: NodeExecution): boolean => /^(?:start|end)-node$/u.test(specIdOf(node));

/** The rows in the order of the tree; a parent is open when its nodes were read. */
export const rowsOf = (children: Children): readonly TreeRow[] => {
  const rows: TreeRow[] = [];
  const add = (parent: string, depth: number): void => {
    for (const node of children.get(parent) ?? []) {
      if (isAdded(node)) continue;
      const isOpen = children.has(idOf(node));
      rows.push({ node, depth, isOpen });
      if (isOpen) add(idOf(node), depth + 1);
    }
  };
  add('', 0);
  return rows;
};

/** Every node that was read. */
export const allOf = (children: Children): readonly NodeExecution[] => [...children.values()].flat();

/** A range of time in milliseconds since 1970. */
export type Range = { readonly from: number; readonly to: number };

/**
 * The time of a node: from its creation to its end, or to now while it has none. `started` is when it left the queue,
 * or its creation where that was not reported.
 */
export const timeOf = ({ closure }: NodeExecution, now: number): (Range & { readonly started: number }) | undefined => {
  const from = msOf(closure?.createdAt);
  if (from === undefined) return undefined;
  const started = msOf(closure?.startedAt) ?? from;
  const ms = lengthOf(closure?.duration);
  if (ms !== undefined) return { from, started, to: started + ms };
  const isOver = hasEnded(nodePhase(closure?.phase));
  return { from, started, to: isOver ? (msOf(closure?.updatedAt) ?? from) : Math.max(now, from) };
};

/**
 * The range that holds the times of all nodes; without nodes, it begins at `now`. It has at least one millisecond,
 * because the chart divides by its length.
 */
export const rangeOf = (nodes: readonly NodeExecution[], now: number): Range => {
  const times = nodes.flatMap((node) => timeOf(node, now) ?? []);
  const from = times.reduce((least, each) => Math.min(least, each.from), Infinity);
  const to = times.reduce((most, each) => Math.max(most, each.to), -Infinity);
  return times.length === 0 ? { from: now, to: now + 1 } : { from, to: Math.max(to, from + 1) };
};
