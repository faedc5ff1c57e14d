import type { BindingData } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { OutputReference } from '../../proto/gen/platformidl/core/types_pb.js';
import type { BranchNode, IfBlock, Node, WorkflowTemplate } from '../../proto/gen/platformidl/core/workflow_pb.js';

export const START = 'start-node';
export const END = 'end-node';

/** The conditions of a branch in the order of trying. */
export const casesOf = ({ ifElse }: BranchNode): readonly IfBlock[] =>
  ifElse === undefined ? [] : [...(ifElse.case ? [ifElse.case] : []), ...ifElse.other];

/** The nodes of which a branch runs one. */
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

/** Every node of a workflow: those inside branches and array nodes, and the failure node, too. */
export const everyNode = ({ nodes, failureNode }: WorkflowTemplate): readonly Node[] =>
  [...nodes, ...(failureNode ? [failureNode] : [])].flatMap(withInside);

/** The promises in a binding, wherever in it they are. */
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

/** The nodes that a node waits for itself: by data, and by order alone. An empty id means the workflow's inputs. */
export const upstreamOf = ({ inputs, upstreamNodeIds }: Pick<Node, 'inputs' | 'upstreamNodeIds'>): Set<string> => {
  const promises = inputs.flatMap(({ binding }) => (binding ? promisesOf(binding) : []));
  return new Set([...promises.map(({ nodeId }) => nodeId || START), ...upstreamNodeIds]);
};

/** Also what the nodes inside it wait for: a branch runs one of them. */
export const waitsFor = (node: Node): Set<string> => {
  const own = upstreamOf(node);
  if (node.target.case !== 'branchNode') return own;
  for (const inner of alternativesOf(node.target.value)) waitsFor(inner).forEach((id) => own.add(id));
  return own;
};
