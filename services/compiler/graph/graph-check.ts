import type { Node, WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { checkBindings } from './binding.js';
import { type Findings, compileProblem, type ReportProblem } from '../compile-error.js';
import { checkNode } from './node-check.js';
import { alternativesOf, END, idInside, START, waitsFor } from './node-walk.js';
import { cycleText, topologicalOrder } from './order.js';
import type { Library, GraphScope } from './scope.js';
import { typesOf } from '../types/types.js';

const idsOf = (node: Node, id: string): readonly string[] =>
  node.target.case === 'branchNode'
    ? [id, ...alternativesOf(node.target.value).flatMap((inner) => idsOf(inner, idInside(id, inner.id)))]
    : [id];

const checkIds = ({ nodes, failureNode }: WorkflowTemplate, report: ReportProblem): void => {
  const seen = new Set([START, END]);
  for (const id of [...nodes, ...(failureNode ? [failureNode] : [])].flatMap((node) => idsOf(node, node.id))) {
    if (seen.has(id) && id !== '') report(id, compileProblem('DuplicateId', `node id ${id} is used more than once`));
    seen.add(id);
  }
};

const reportCycle = (cycle: readonly string[], report: ReportProblem): void =>
  report(cycle[0] ?? START, compileProblem('CycleDetected', `nodes wait for each other: ${cycleText(cycle)}`));

const orderOf = (nodes: ReadonlyMap<string, Node>, report: ReportProblem): readonly string[] => {
  const { sorted, cycle } = topologicalOrder(new Map([...nodes].map(([id, node]) => [id, waitsFor(node)])));
  if (cycle === undefined) return sorted;
  reportCycle(cycle, report);
  const done = new Set(sorted);
  return [...sorted, ...[...nodes.keys()].filter((id) => !done.has(id))];
};

const scopeOf = (template: WorkflowTemplate, library: Library, report: ReportProblem): GraphScope => ({
  template,
  library,
  inputs: typesOf(template.interface?.inputs),
  nodeIds: new Set(template.nodes.map(({ id }) => id)),
  outputs: new Map(),
  problemsByType: new Map(),
  report,
});

/** Checks one graph and reports its errors to the findings. */
export const checkGraph = (template: WorkflowTemplate, library: Library, { report, isFull }: Findings): void => {
  if (template.nodes.length === 0) report(START, compileProblem('NoNodesFound', 'the workflow has no nodes'));
  checkIds(template, report);
  const nodes = new Map(template.nodes.map((node) => [node.id, node]));
  const scope = scopeOf(template, library, report);
  for (const id of orderOf(nodes, report)) {
    if (isFull()) return;
    const node = nodes.get(id);
    const outputs = node && checkNode(scope, node);
    if (outputs) scope.outputs.set(id, outputs);
  }
  // Each output must be bound, also one whose type is optional.
  checkBindings(scope, { id: END, inputs: template.outputs }, typesOf(template.interface?.outputs), () => false);
  if (template.failureNode) checkNode(scope, template.failureNode);
};
