import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type {
  ArrayNode,
  GateNode,
  Node,
  TaskNode,
  WorkflowNode,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { boundTypes } from './binding.js';
import { type CompileProblem, compileProblem, required } from '../compile-error.js';
import { identifierText } from '../identifier-key.js';
import { isOwnLaunchPlan } from './requirements.js';
import { type Interface, interfaceOf, type LaunchPlanInterface, type GraphScope } from './scope.js';
import { collectionOf, isSimple, NONE, type Types, typesOf, unionOf, variantsOf } from '../types/types.js';

/** An interface or the problem; `undefined` when the problem has been reported already. */
type Found = Interface | CompileProblem | undefined;

const NOTHING: Types = new Map();

const taskInterface = (scope: GraphScope, { reference }: TaskNode): Found => {
  if (reference.value === undefined) return required('the reference of a task node');
  const text = `task ${identifierText(reference.value)} is not registered`;
  return scope.library.task(reference.value) ?? compileProblem('TaskReferenceNotFound', text);
};

/** The interface of a launch plan node. Inputs with a default are part of it only where they are bound. */
const launchPlanInterface = (node: Node, { expectedInputs, expectedOutputs }: LaunchPlanInterface): Interface => {
  const bound = new Set(node.inputs.map(({ var: name }) => name));
  const seen = Object.entries(expectedInputs?.parameters ?? {}).filter(
    ([name, { behavior }]) => (behavior.case === 'required' && behavior.value) || bound.has(name),
  );
  return {
    inputs: new Map(seen.map(([name, parameter]) => [name, parameter.var?.type ?? NONE])),
    outputs: typesOf(expectedOutputs),
  };
};

const launchPlanFound = (scope: GraphScope, node: Node, id: Identifier): Found => {
  if (isOwnLaunchPlan(scope.template, id)) return interfaceOf(scope.template.interface);
  const plan = scope.library.launchPlan(id);
  if (plan) return launchPlanInterface(node, plan);
  return compileProblem('WorkflowReferenceNotFound', `launch plan ${identifierText(id)} is not registered`);
};

const workflowInterface = (scope: GraphScope, node: Node, { reference }: WorkflowNode): Found => {
  if (reference.case === undefined) return required('the reference of a workflow node');
  if (reference.case === 'launchplanRef') return launchPlanFound(scope, node, reference.value);
  const known = scope.library.subWorkflow(reference.value);
  const text = `sub-workflow ${identifierText(reference.value)}`;
  if (known === 'without interface') return required(`the interface of ${text}`);
  return known ?? compileProblem('WorkflowReferenceNotFound', `${text} is not among sub_workflows`);
};

/** An approval passes its bound variables through unchanged. */
const approvalInterface = (scope: GraphScope, node: Node): Interface | undefined => {
  const types = boundTypes(scope, node);
  return node.inputs.every(({ var: name }) => types.has(name)) ? { inputs: types, outputs: types } : undefined;
};

const gateInterface = (scope: GraphScope, node: Node, { condition }: GateNode): Found => {
  switch (condition.case) {
    case 'approve':
      return approvalInterface(scope, node);
    case 'signal': {
      const { type, outputVariableName } = condition.value;
      if (type?.type.case === undefined) return required('the type of a signal');
      if (outputVariableName === '') return required('output_variable_name of a signal');
      return { inputs: NOTHING, outputs: new Map([[outputVariableName, type]]) };
    }
    case 'sleep':
      return { inputs: NOTHING, outputs: NOTHING };
    case undefined:
      return compileProblem('NoConditionFound', 'a gate needs one of approve, signal and sleep');
  }
};

/**
 * True when failed elements may leave gaps in the outputs. The number of elements is not known here, so a minimum count
 * of successes tells nothing, unlike a ratio below one.
 */
const leavesGaps = ({ successCriteria }: ArrayNode): boolean =>
  successCriteria.case === 'minSuccessRatio' && successCriteria.value < 1;

const optional = (type: LiteralType): LiteralType => {
  const variants = variantsOf(type);
  if (variants === undefined) return unionOf([type, NONE]);
  return variants.some((variant) => isSimple(variant, SimpleType.NONE)) ? type : unionOf([...variants, NONE]);
};

const mapped = (types: Types, each: (type: LiteralType, name: string) => LiteralType): Types =>
  new Map([...types].map(([name, type]) => [name, each(type, name)]));

/** The interface of an array node: lists, but for bound inputs, which are the same for all elements. */
const listInterface = (array: ArrayNode, { inputs, outputs }: Interface): Interface => {
  const bound = new Set(array.boundInputs);
  const gaps = leavesGaps(array);
  return {
    inputs: mapped(inputs, (type, name) => (bound.has(name) ? type : collectionOf(type))),
    outputs: mapped(outputs, (type) => collectionOf(gaps ? optional(type) : type)),
  };
};

/**
 * The interface of an array node. Where the inner interface is not declared as the original one, the client has already
 * turned its variables into lists.
 */
const arrayInterface = (scope: GraphScope, node: Node, array: ArrayNode): Found => {
  if (array.node === undefined) return required('the node of an array node');
  const inner = found(scope, { ...array.node, id: node.id, inputs: node.inputs });
  if (inner === undefined || 'code' in inner) return inner;
  return array.isOriginalSubNodeInterface === true ? listInterface(array, inner) : inner;
};

const found = (scope: GraphScope, node: Node): Found => {
  const { target } = node;
  switch (target.case) {
    case 'taskNode':
      return taskInterface(scope, target.value);
    case 'workflowNode':
      return workflowInterface(scope, node, target.value);
    case 'gateNode':
      return gateInterface(scope, node, target.value);
    case 'arrayNode':
      return arrayInterface(scope, node, target.value);
    case 'branchNode':
      return compileProblem('InvalidValue', 'an array node cannot run a branch');
    case undefined:
      return required('the target of the node');
  }
};

/**
 * The inputs and outputs of a node that is not a branch; `undefined` when it has no interface, which has then been
 * reported.
 */
export const nodeInterface = (scope: GraphScope, node: Node): Interface | undefined => {
  const result = found(scope, node);
  if (result === undefined || !('code' in result)) return result;
  scope.report(node.id, result);
  return undefined;
};
