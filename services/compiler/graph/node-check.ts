import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { BranchNode, Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { boundTypes, checkBindings } from './binding.js';
import { isCastable } from '../types/castability.js';
import { compileProblem, required } from '../compile-error.js';
import { conditionProblems } from './condition.js';
import { nodeInterface } from './node-interface.js';
import { alternativesOf, casesOf, idInside, START } from './node-walk.js';
import type { GraphScope } from './scope.js';
import type { Types } from '../types/types.js';

const isApproval = ({ target }: Node): boolean =>
  target.case === 'gateNode' && target.value.condition.case === 'approve';

const plainOutputs = (scope: GraphScope, node: Node): Types | undefined => {
  const result = nodeInterface(scope, node);
  // The interface of an approval consists of its bindings, which were checked when it was made.
  if (result && !isApproval(node)) checkBindings(scope, node, result.inputs);
  return result?.outputs;
};

const checkCases = (scope: GraphScope, node: Node, branch: BranchNode): void => {
  const variables = boundTypes(scope, node);
  const bound = new Set(node.inputs.map(({ var: name }) => name));
  if (branch.ifElse?.case === undefined)
    scope.report(node.id, compileProblem('BranchNodeHasNoCondition', 'the branch has no first case'));
  for (const { condition, thenNode } of casesOf(branch)) {
    for (const each of conditionProblems(condition, variables, bound)) scope.report(node.id, each);
    if (thenNode === undefined) scope.report(node.id, required('then_node of a case'));
  }
  if (branch.ifElse?.default.case === undefined)
    scope.report(node.id, compileProblem('BranchNodeHasNoDefault', 'the branch has neither else_node nor error'));
};

const isSameType = (a: LiteralType, b: LiteralType | undefined): boolean =>
  b !== undefined && isCastable(a, b) && isCastable(b, a);

/** The variables that all alternatives have with the same type: they exist whichever node runs. */
const inAll = ([first, ...others]: readonly Types[]): Types =>
  new Map([...(first ?? [])].filter(([name, type]) => others.every((types) => isSameType(type, types.get(name)))));

const branchOutputs = (scope: GraphScope, node: Node, branch: BranchNode): Types | undefined => {
  checkCases(scope, node, branch);
  const outputs = alternativesOf(branch).map((inner) => {
    if (inner.id === '') scope.report(node.id, required('the id of a node inside the branch'));
    return checkNode(scope, { ...inner, id: idInside(node.id, inner.id) });
  });
  const known = outputs.filter((types) => types !== undefined);
  return known.length === outputs.length ? inAll(known) : undefined;
};

/** Adds the aliases: each is another name of an output. */
const withAliases = (scope: GraphScope, { id, outputAliases }: Node, outputs: Types): Types => {
  if (outputAliases.length === 0) return outputs;
  const named = new Map(outputs);
  const aliases = new Set<string>();
  for (const { var: name, alias } of outputAliases) {
    const type = outputs.get(name);
    if (aliases.has(alias)) scope.report(id, compileProblem('DuplicateAlias', `alias ${alias} is used twice`));
    if (type) named.set(alias, type);
    else scope.report(id, compileProblem('VariableNameNotFound', `alias ${alias}: there is no output ${name}`));
    aliases.add(alias);
  }
  return named;
};

/**
 * Checks a node and the nodes inside it.
 *
 * @returns the outputs by name; `undefined` when they are not known.
 */
export const checkNode = (scope: GraphScope, node: Node): Types | undefined => {
  if (node.id === '') scope.report(node.id, required('the id of a node'));
  for (const id of node.upstreamNodeIds) {
    if (id !== START && !scope.nodeIds.has(id))
      scope.report(node.id, compileProblem('NodeReferenceNotFound', `upstream node ${id} is not in the workflow`));
  }
  const { target } = node;
  const outputs = target.case === 'branchNode' ? branchOutputs(scope, node, target.value) : plainOutputs(scope, node);
  return outputs && withAliases(scope, node, outputs);
};
