import { create } from '@bufbuild/protobuf';
import { type CompiledWorkflow } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { type ExecutionError } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type VariableMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import {
  type Binding,
  BindingSchema,
  type Scalar,
  ScalarSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type Node, NodeSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { START_NODE } from '../values/bindings.js';
import { type Walk } from '../effects.js';
import { type Literals, scalar } from '../values/literal-values.js';
import { definitionKey, type ClosureDefinitions, type GraphPosition, type ExecutionWalk } from '../run.js';
import { inUnion } from '../values/typed-literals.js';

const isError = (type: LiteralType | undefined): boolean =>
  type?.type.case === 'simple' && type.type.value === SimpleType.ERROR;

const errorVariant = (type: LiteralType | undefined): LiteralType | undefined =>
  type?.type.case === 'unionType' ? type.type.value.variants.find(isError) : undefined;

const inputsOf = (node: Node, definitions: ClosureDefinitions): VariableMap | undefined => {
  const { case: kind, value } = node.target;
  if (kind === 'taskNode') return definitions.tasks.get(definitionKey(value.reference.value))?.interface?.inputs;
  const isInner = kind === 'workflowNode' && value.reference.case === 'subWorkflowRef';
  return isInner
    ? definitions.workflows.get(definitionKey(value.reference.value))?.template?.interface?.inputs
    : undefined;
};

const scalarOf = (error: ExecutionError, variant: LiteralType | undefined): Scalar => {
  const literal = scalar({ case: 'error', value: { message: error.message, failedNodeId: '' } });
  const wrapped = variant ? inUnion(literal, variant) : literal;
  return wrapped.value.case === 'scalar' ? wrapped.value.value : create(ScalarSchema);
};

/**
 * Binds the inputs of type error of a failure handler to the error that it handles, instead of the value that the SDK
 * has bound there.
 */
const withErrorBound = (node: Node, definitions: ClosureDefinitions, error: ExecutionError): Node => {
  const variables = inputsOf(node, definitions)?.variables ?? {};
  const bind = (binding: Binding): Binding => {
    const type = variables[binding.var]?.type;
    const variant = errorVariant(type);
    if (!variant && !isError(type)) return binding;
    return create(BindingSchema, {
      var: binding.var,
      binding: { value: { case: 'scalar', value: scalarOf(error, variant) } },
    });
  };
  return create(NodeSchema, { ...node, inputs: node.inputs.map(bind) });
};

/** Runs the failure node of a failed workflow; its own result is ignored. */
export function* walkFailureNode(
  run: ExecutionWalk,
  position: GraphPosition,
  failed: { readonly workflow: CompiledWorkflow; readonly inputs: Literals; readonly error: ExecutionError },
): Walk<void> {
  const node = failed.workflow.template?.failureNode;
  if (!node) return;
  const bound = withErrorBound(node, position.definitions, failed.error);
  yield* run.walkNode(run, position, bound, new Map([[START_NODE, failed.inputs]]));
}
