import type { BindingData } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { OutputReference } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { BranchNode, IfBlock, Node, WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';

export const START = 'start-node';
export const END = 'end-node';

/** The cases of a branch in the order in which their conditions are tried. */
export const casesOf = ({ ifElse }: BranchNode): readonly IfBlock[] =>
  ifElse === undefined ? [] : [...(ifElse.case ? [ifElse.case] : []), ...ifElse.other];

/** The alternatives of a branch: it runs at most one of these nodes. */
export const alternativesOf = (branch: BranchNode): readonly Node[] => {
  const then = casesOf(branch).flatMap(({ thenNode }) => thenNode ?? []);
  const otherwise = branch.ifElse?.default;
  return otherwise?.case === 'elseNode' ? [...then, otherwise.value] : then;
};

/** The id that a node inside a branch has in the compiled graph. */
export const idInside = (branchId: string, innerId: string): string => `${branchId}-${innerId}`;

const insideOf = ({ target }: Node): readonly Node[] => {
  if (target.case === 'branchNode') return alternativesOf(target.value);
  return target.case === 'arrayNode' && target.value.node ? [target.value.node] : [];
};

const withInside = (node: Node): readonly Node[] => [node, ...insideOf(node).flatMap(withInside)];

/** Every node of a workflow, including those inside branches and array nodes, and the failure node. */
export const everyNode = ({ nodes, failureNode }: WorkflowTemplate): readonly Node[] =>
  [...nodes, ...(failureNode ? [failureNode] : [])].flatMap(withInside);

/** All promises in a binding, at any depth. */
const promisesOf = ({ value }: BindingData): readonly OutputReference[] => {
  switch (value.case) {
    case 'promise':
      return [value.value];
    case 'collection':
      return value.value.bindings.flatMap(promisesOf);
    case 'map':
      return Object.values(value.value.bindings).flatMap(promisesOf);
    default:
      return [];
  }
};

/**
 * The ids of the nodes that a node itself waits for, by data or by explicit order. A promise with an empty node id
 * means the workflow's inputs, so it gives the start node.
 */
export const upstreamOf = ({ inputs, upstreamNodeIds }: Pick<Node, 'inputs' | 'upstreamNodeIds'>): Set<string> => {
  const promises = inputs.flatMap(({ binding }) => (binding ? promisesOf(binding) : []));
  return new Set([...promises.map(({ nodeId }) => nodeId || START), ...upstreamNodeIds]);
};

/**
 * The ids of the nodes that a node waits for, including those that the nodes inside a branch wait for: the branch may
 * run any of them.
 */
export const waitsFor = (node: Node): Set<string> => {
  const upstream = upstreamOf(node);
  if (node.target.case !== 'branchNode') return upstream;
  for (const inner of alternativesOf(node.target.value)) waitsFor(inner).forEach((id) => upstream.add(id));
  return upstream;
};
