import type { CompiledWorkflow, CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { alternativesOf } from '../../graph/elements.js';
import { subWorkflowOf } from '../compiled-nodes.js';
import { type Children, idOf, specIdOf } from './tree.js';

/** The names that authors gave to nodes, by the id of the node in the execution; nodes without a name are left out. */
export type NodeNames = ReadonlyMap<string, string>;

/** The workflows that dynamic nodes have planned, by the id of the node in the execution. */
export type Planned = ReadonlyMap<string, CompiledWorkflowClosure>;

/** Compiled nodes that have the names of one level of the tree, by their ids, and the closure that they are part of. */
type Layer = { readonly nodes: ReadonlyMap<string, Node>; readonly closure: CompiledWorkflowClosure };

const byId = (nodes: readonly Node[]): ReadonlyMap<string, Node> => new Map(nodes.map((node) => [node.id, node]));

const layerOf = (workflow: CompiledWorkflow, closure: CompiledWorkflowClosure): Layer => {
  const { nodes = [], failureNode } = workflow.template ?? {};
  return { nodes: byId([...nodes, ...(failureNode ? [failureNode] : [])]), closure };
};

/** The layer below a node: the branches of a branch, or the nodes of a nested workflow. */
const layerIn = (node: Node, closure: CompiledWorkflowClosure): Layer | undefined => {
  if (node.target.case === 'branchNode') return { nodes: byId(alternativesOf(node)), closure };
  const workflow = subWorkflowOf(node, closure);
  return workflow && layerOf(workflow, closure);
};

const layerOfPlan = (closure: CompiledWorkflowClosure | undefined): Layer | undefined =>
  closure?.primary && layerOf(closure.primary, closure);

/** Finds the names of the nodes that were read, in the workflow of the execution and in those inside it. */
export const namesOf = (children: Children, closure: CompiledWorkflowClosure, planned: Planned): NodeNames => {
  const names = new Map<string, string>();
  const add = (parent: string, layer: Layer): void => {
    for (const node of children.get(parent) ?? []) {
      const compiled = layer.nodes.get(specIdOf(node));
      const { name = '' } = compiled?.metadata ?? {};
      if (name !== '') names.set(idOf(node), name);
      if (!children.has(idOf(node))) continue;
      const below = layerOfPlan(planned.get(idOf(node))) ?? (compiled && layerIn(compiled, layer.closure));
      if (below) add(idOf(node), below);
    }
  };
  const all = layerOfPlan(closure);
  if (all) add('', all);
  return names;
};
