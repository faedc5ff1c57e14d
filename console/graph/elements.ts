import type { CompiledWorkflow } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node } from '../../proto/gen/platformidl/core/workflow_pb.js';

/** A node of a graph; `detail` names its task, workflow or launch plan. */
export type GraphNode = { readonly id: string; readonly name: string; readonly kind: string; readonly detail: string };

/** A line from a node to one that runs after it, or from a branch to one that it chooses from. */
export type Edge = { readonly id: string; readonly from: string; readonly to: string };

export type Elements = { readonly nodes: readonly GraphNode[]; readonly lines: readonly Edge[] };

const START = 'start-node';
const END = 'end-node';

const gateKind = (node: Node): string => {
  if (node.target.case !== 'gateNode') return '';
  const { condition } = node.target.value;
  return { approve: 'approval', signal: 'signal', sleep: 'sleep', none: 'gate' }[condition.case ?? 'none'];
};

const targetOf = (node: Node): Pick<GraphNode, 'kind' | 'detail'> => {
  const { target } = node;
  switch (target.case) {
    case 'taskNode':
      return { kind: 'task', detail: target.value.reference.value?.name ?? '' };
    case 'workflowNode':
      return {
        kind: target.value.reference.case === 'launchplanRef' ? 'launch plan' : 'workflow',
        detail: target.value.reference.value?.name ?? '',
      };
    case 'branchNode':
      return { kind: 'branch', detail: '' };
    case 'gateNode':
      return { kind: gateKind(node), detail: '' };
    case 'arrayNode':
      return { kind: 'map', detail: target.value.node ? targetOf(target.value.node).detail : '' };
    default:
      return { kind: '', detail: '' };
  }
};

const graphNode = (node: Node): GraphNode => {
  const text = { [START]: 'start', [END]: 'end' }[node.id];
  if (text !== undefined) return { id: node.id, name: text, kind: '', detail: '' };
  const { name = '' } = node.metadata ?? {};
  return { id: node.id, name: name === '' ? node.id : name, ...targetOf(node) };
};

/** The nodes that a branch chooses from; none for other nodes. */
export const alternativesOf = (node: Node): readonly Node[] => {
  if (node.target.case !== 'branchNode') return [];
  const { ifElse } = node.target.value;
  const cases = [ifElse?.case, ...(ifElse?.other ?? [])].flatMap((each) => each?.thenNode ?? []);
  const last = ifElse?.default.case === 'elseNode' ? [ifElse.default.value] : [];
  return [...cases, ...last];
};

/** A node and, for a branch, all nodes inside it, also those of branches inside the branch. */
const withInside = (node: Node): readonly Node[] => [node, ...alternativesOf(node).flatMap(withInside)];

/** The nodes of a workflow that its graph draws: its own, and those inside its branches. */
export const drawnNodesOf = ({ template }: CompiledWorkflow): readonly Node[] =>
  (template?.nodes ?? []).flatMap(withInside);

const unique = <Value extends { readonly id: string }>(values: readonly Value[]): readonly Value[] => [
  ...new Map(values.map((value) => [value.id, value])).values(),
];

/** The nodes of a compiled workflow and the lines between them. */
export const elementsOf = (workflow: CompiledWorkflow): Elements => {
  const nodes = drawnNodesOf(workflow);
  const branches = nodes.flatMap((node) => alternativesOf(node).map(({ id }) => ({ from: node.id, to: id })));
  const follows = Object.entries(workflow.connections?.downstream ?? {}).flatMap(([from, { ids }]) =>
    ids.map((to) => ({ from, to })),
  );
  const all = unique(nodes.map(graphNode));
  const known = new Set(all.map(({ id }) => id));
  const ends = [START, END].filter((id) => !known.has(id) && follows.some(({ from, to }) => from === id || to === id));
  const lines = [...branches, ...follows].map((line) => ({ id: `${line.from} ${line.to}`, ...line }));
  const text = (id: string): string => (id === START ? 'start' : 'end');
  return {
    nodes: [...all, ...ends.map((id) => ({ id, name: text(id), kind: '', detail: '' }))],
    lines: unique(lines),
  };
};
