import type { OutputReference, PromiseAttribute } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { compileProblem, type CompileProblem } from '../compile-error.js';
import { START } from './node-walk.js';
import type { GraphScope } from './scope.js';
import { innerOf, isSimple, type Types } from '../types/types.js';
import { typeText } from '../types/type-text.js';

/**
 * The type of a binding's source, or the problem; `undefined` when the outputs of the source node are not known because
 * of an error that is reported elsewhere: one of that node, or a cycle.
 */
export type Source = { readonly type: LiteralType } | { readonly problem: CompileProblem } | undefined;

const INDEXED = /^\[\d+\]\.(.+)$/;

/** The type of an output. The name `[2].o0` means an element of the list `o0`. */
const outputType = (outputs: Types, name: string): LiteralType | undefined => {
  const indexed = INDEXED.exec(name)?.[1];
  const whole = indexed === undefined ? undefined : outputs.get(indexed);
  return outputs.get(name) ?? (whole && innerOf(whole, 'collectionType'));
};

const fieldOf = ({ structure }: LiteralType, name: string): LiteralType | undefined =>
  structure && Object.hasOwn(structure.dataclassType, name) ? structure.dataclassType[name] : undefined;

const isUntypedStruct = (type: LiteralType): boolean =>
  isSimple(type, SimpleType.STRUCT) && Object.keys(type.structure?.dataclassType ?? {}).length === 0;

const step = (type: LiteralType, { value }: PromiseAttribute): LiteralType | undefined => {
  // The fields of a struct without declared fields are known only at run time; until then they count as structs.
  if (isUntypedStruct(type)) return type;
  if (value.case === 'intValue') return innerOf(type, 'collectionType');
  return value.case === 'stringValue' ? (innerOf(type, 'mapValueType') ?? fieldOf(type, value.value)) : undefined;
};

const walked = (from: LiteralType, promise: OutputReference): Source => {
  let type = from;
  for (const attribute of promise.attrPath) {
    const next = step(type, attribute);
    if (next === undefined)
      return {
        problem: compileProblem(
          'FieldNotFound',
          `${promise.nodeId || START}.${promise.var}: ${typeText(type)} has no ${String(attribute.value.value)}`,
        ),
      };
    type = next;
  }
  return { type };
};

/** The type of a promise: an output of another node, an input of the workflow, or a part of one. */
export const promiseSource = (scope: GraphScope, promise: OutputReference): Source => {
  const nodeId = promise.nodeId || START;
  if (nodeId !== START && !scope.nodeIds.has(nodeId))
    return { problem: compileProblem('NodeReferenceNotFound', `node ${nodeId} is not in the workflow`) };
  const outputs = nodeId === START ? scope.inputs : scope.outputs.get(nodeId);
  if (outputs === undefined) return undefined;
  const type = outputType(outputs, promise.var);
  if (type !== undefined) return walked(type, promise);
  const problem = nodeId === START ? 'the workflow has no input' : `node ${nodeId} has no output`;
  return { problem: compileProblem('VariableNameNotFound', `${problem} ${promise.var}`) };
};
