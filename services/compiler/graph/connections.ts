import { create } from '@bufbuild/protobuf';

import {
  type ConnectionSet,
  type ConnectionSet_IdList,
  ConnectionSet_IdListSchema,
  ConnectionSetSchema,
} from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node, WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { alternativesOf, END, START, upstreamOf } from './node-walk.js';

type Edges = Map<string, Set<string>>;

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

const idLists = (edges: Edges): Record<string, ConnectionSet_IdList> =>
  Object.fromEntries(
    [...edges].sort(byKey).map(([id, ids]) => [id, create(ConnectionSet_IdListSchema, { ids: [...ids].sort() })]),
  );

const reversed = (edges: Edges): Edges => {
  const result: Edges = new Map();
  for (const [id, upstream] of edges) {
    for (const each of upstream) result.set(each, (result.get(each) ?? new Set()).add(id));
  }
  return result;
};

/** The upstream edges of the nodes inside a branch. These nodes do not appear in the downstream edges. */
const insideEdges = ({ target }: Node): readonly (readonly [string, Set<string>])[] =>
  target.case === 'branchNode' ? alternativesOf(target.value).flatMap(neededBy) : [];

const neededBy = (node: Node): readonly (readonly [string, Set<string>])[] => {
  const upstream = upstreamOf(node);
  return [...(upstream.size > 0 ? [[node.id, upstream] as const] : []), ...insideEdges(node)];
};

/**
 * Adds the start node before nodes without upstream nodes, and the end node after those that the outputs name and those
 * that no node waits for (nodes inside branches do not count).
 */
const closedEdges = (nodes: readonly Node[], outputs: Set<string>): Edges => {
  const edges: Edges = new Map(nodes.map((node) => [node.id, upstreamOf(node)]));
  for (const upstream of edges.values()) if (upstream.size === 0) upstream.add(START);
  const followed = new Set([...edges.values()].flatMap((upstream) => [...upstream]));
  const leaves = nodes.map(({ id }) => id).filter((id) => !followed.has(id));
  return edges.set(END, new Set([...outputs, ...leaves]));
};

/** The edges of a template that has its start and end nodes: by data and by explicit order alike, sorted. */
export const connectionsOf = ({ nodes, failureNode, outputs }: WorkflowTemplate): ConnectionSet => {
  const inner = nodes.filter(({ id }) => id !== START && id !== END);
  const edges = closedEdges(inner, upstreamOf({ inputs: outputs, upstreamNodeIds: [] }));
  const inside = [...inner.flatMap(insideEdges), ...(failureNode ? neededBy(failureNode) : [])];
  return create(ConnectionSetSchema, {
    downstream: idLists(reversed(edges)),
    upstream: idLists(new Map([...edges, ...inside])),
  });
};
