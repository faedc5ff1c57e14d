import { type CompiledWorkflow } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { type BindingData } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type Node } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { START_NODE } from './values/bindings.js';

/** The nodes of a graph with their dependencies: the nodes that each one waits for, and those that wait for it. */
export type GraphOrder = {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly upstream: ReadonlyMap<string, ReadonlySet<string>>;
  readonly downstream: ReadonlyMap<string, readonly string[]>;
};

const promisedNodes = (binding: BindingData | undefined): readonly string[] => {
  const value = binding?.value;
  switch (value?.case) {
    case 'promise':
      return [value.value.nodeId];
    case 'collection':
      return value.value.bindings.flatMap(promisedNodes);
    case 'map':
      return Object.values(value.value.bindings).flatMap(promisedNodes);
    default:
      return [];
  }
};

/** The nodes that a branch node chooses from; none for other nodes. */
export const innerNodes = (node: Node): readonly Node[] => {
  const block = node.target.case === 'branchNode' ? node.target.value.ifElse : undefined;
  if (!block) return [];
  const otherwise = block.default.case === 'elseNode' ? block.default.value : undefined;
  const all = [block.case?.thenNode, ...block.other.map((each) => each.thenNode), otherwise];
  return all.filter((each) => each !== undefined);
};

/** The nodes that a node refers to; a branch node also depends on all that its inner nodes refer to. */
const references = (node: Node): readonly string[] => [
  ...node.upstreamNodeIds,
  ...node.inputs.flatMap((each) => promisedNodes(each.binding)),
  ...innerNodes(node).flatMap(references),
];

const readOrder = (workflow: CompiledWorkflow): GraphOrder => {
  const nodes = new Map(
    (workflow.template?.nodes ?? []).filter((each) => each.id !== START_NODE).map((each) => [each.id, each]),
  );
  const upstream = new Map<string, ReadonlySet<string>>();
  const downstream = new Map<string, string[]>();
  for (const [id, node] of nodes) {
    const named = [...(workflow.connections?.upstream[id]?.ids ?? []), ...references(node)];
    const before = new Set(named.filter((each) => each !== id && nodes.has(each)));
    upstream.set(id, before);
    for (const each of before) {
      const after = downstream.get(each);
      if (after) after.push(id);
      else downstream.set(each, [id]);
    }
  }
  return { nodes, upstream, downstream };
};

const orders = new WeakMap<CompiledWorkflow, GraphOrder>();

/** The order of a graph; cached. */
export const orderOf = (workflow: CompiledWorkflow): GraphOrder => {
  const order = orders.get(workflow) ?? readOrder(workflow);
  orders.set(workflow, order);
  return order;
};
