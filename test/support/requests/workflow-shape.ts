import type { CompiledWorkflow, CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node, WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import { END, everyNode, START } from '../../../services/compiler/graph/node-walk.js';
import type { NodeCounts, Shape } from './fixtures.js';

/** The kind of a node, in the words of the fixtures' manifests. */
const kindOf = ({ target }: Node): string => {
  if (target.case === 'workflowNode')
    return target.value.reference.case === 'launchplanRef' ? 'launch plan' : 'sub-workflow';
  if (target.case === 'gateNode') return `gate (${target.value.condition.case})`;
  return (target.case ?? 'none').replace('Node', '');
};

/** The numbers of nodes of each kind in one workflow, without those of its sub-workflows. */
const countsOf = ({ template }: CompiledWorkflow): NodeCounts => {
  const { nodes, failureNode } = template!;
  const own = nodes.filter(({ id }) => id !== START && id !== END);
  const kinds: Record<string, number> = {};
  for (const node of own) kinds[kindOf(node)] = (kinds[kindOf(node)] ?? 0) + 1;
  const inside = everyNode({ ...template!, nodes: own, failureNode: undefined }).length - own.length;
  return {
    nodesWithStartAndEnd: nodes.length,
    kinds,
    ...(inside > 0 && { insideBranchesAndArrays: inside }),
    ...(failureNode && { failureNode: kindOf(failureNode) }),
  };
};

/** The levels of sub-workflows from a workflow on; 1 without any. */
const depthOf = (template: WorkflowTemplate, closure: CompiledWorkflowClosure): number => {
  const below = everyNode(template).flatMap(({ target }) => {
    const reference = target.case === 'workflowNode' ? target.value.reference : undefined;
    if (reference?.case !== 'subWorkflowRef') return [];
    const sub = closure.subWorkflows.find(
      (each) => identifierKey(each.template!.id!) === identifierKey(reference.value),
    );
    return [depthOf(sub!.template!, closure)];
  });
  return 1 + Math.max(0, ...below);
};

/** The shape of a compiled workflow, in the words of the fixtures' manifests. */
export const shapeOf = (closure: CompiledWorkflowClosure): Shape => {
  const { primary, subWorkflows } = closure;
  const subs = subWorkflows.map((each) => [each.template!.id!.name, countsOf(each)] as const);
  return {
    ...countsOf(primary!),
    depth: depthOf(primary!.template!, closure),
    ...(subs.length > 0 && { subWorkflows: Object.fromEntries(subs) }),
  };
};
