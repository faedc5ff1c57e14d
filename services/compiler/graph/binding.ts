import type { Binding, BindingData, Scalar } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { isCastable } from '../types/castability.js';
import { type CompileProblem, compileProblem, required } from '../compile-error.js';
import { typeOfScalar, unified } from '../types/literal-type.js';
import { type Source, promiseSource } from './promise.js';
import type { GraphScope } from './scope.js';
import { collectionOf, innerOf, isOptional, hasManyParts, mapOf, type Types, variantsOf } from '../types/types.js';
import { typeText } from '../types/type-text.js';

const mismatch = (given: LiteralType, wanted: LiteralType): CompileProblem =>
  compileProblem('MismatchingTypes', `type ${typeText(given)} does not fit the expected type ${typeText(wanted)}`);

const scalarSource = (scalar: Scalar): Source => {
  const type = typeOfScalar(scalar);
  return type ? { type } : { problem: compileProblem('InvalidLiteralType', 'a constant has no value') };
};

const offloadedSource = (type: LiteralType | undefined): Source =>
  type ? { type } : { problem: compileProblem('InvalidLiteralType', 'an offloaded constant has no type') };

const manySource = (
  scope: GraphScope,
  elements: readonly BindingData[],
  wrap: (type: LiteralType) => LiteralType,
): Source => {
  const known: LiteralType[] = [];
  for (const element of elements) {
    const source = typeOfBinding(scope, element);
    if (source === undefined || 'problem' in source) return source;
    known.push(source.type);
  }
  const type = wrap(unified(known));
  return hasManyParts(type)
    ? { problem: compileProblem('InvalidLiteralType', 'the type of a list or map is too large') }
    : { type };
};

/** The type that a binding has by itself, whatever the expected type. */
const typeOfBinding = (scope: GraphScope, { value }: BindingData): Source => {
  switch (value.case) {
    case 'promise':
      return promiseSource(scope, value.value);
    case 'scalar':
      return scalarSource(value.value);
    case 'collection':
      return manySource(scope, value.value.bindings, collectionOf);
    case 'map':
      return manySource(scope, Object.values(value.value.bindings), mapOf);
    case 'offloadedMetadata':
      return offloadedSource(value.value.inferredType);
    case undefined:
      return { problem: required('a value of the binding') };
  }
};

const illegalEnumValue = ({ value }: BindingData, { type }: LiteralType): CompileProblem | undefined => {
  if (type.case !== 'enumType' || value.case !== 'scalar' || value.value.value.case !== 'primitive') return undefined;
  const primitive = value.value.value.value.value;
  if (primitive.case !== 'stringValue' || type.value.values.includes(primitive.value)) return undefined;
  return compileProblem(
    'IllegalEnumValue',
    `${JSON.stringify(primitive.value.slice(0, 100))} is not one of the enum's values`,
  );
};

const singleProblems = (scope: GraphScope, data: BindingData, wanted: LiteralType): readonly CompileProblem[] => {
  const source = typeOfBinding(scope, data);
  if (source === undefined) return []; // the error is reported elsewhere, see `Source`
  if ('problem' in source) return [source.problem];
  if (!isCastable(source.type, wanted)) return [mismatch(source.type, wanted)];
  const illegal = illegalEnumValue(data, wanted);
  return illegal ? [illegal] : [];
};

type Many = { readonly kind: 'collectionType' | 'mapValueType'; readonly elements: readonly BindingData[] };

const manyOf = ({ value }: BindingData): Many | undefined => {
  if (value.case === 'collection') return { kind: 'collectionType', elements: value.value.bindings };
  return value.case === 'map' ? { kind: 'mapValueType', elements: Object.values(value.value.bindings) } : undefined;
};

const triedProblems = (scope: GraphScope, data: BindingData, wanted: LiteralType): readonly CompileProblem[] => {
  const known = scope.problemsByType.get(data) ?? new Map<LiteralType, readonly CompileProblem[]>();
  const found = known.get(wanted) ?? bindingProblems(scope, data, wanted);
  scope.problemsByType.set(data, known.set(wanted, found));
  return found;
};

/** A list or map must fit exactly one variant: with several, the meant one is ambiguous. */
const unionProblems = (scope: GraphScope, data: BindingData, wanted: LiteralType): readonly CompileProblem[] => {
  const fitting = (variantsOf(wanted) ?? []).filter((variant) => triedProblems(scope, data, variant).length === 0);
  if (fitting.length === 1) return [];
  const text = `fits ${fitting.length === 0 ? 'no variant' : 'more than one variant'} of ${typeText(wanted)}`;
  return [compileProblem(fitting.length === 0 ? 'IncompatibleBindingUnionValue' : 'AmbiguousBindingUnionValue', text)];
};

/** The problems of binding `data` to a variable of the type `wanted`. */
const bindingProblems = (scope: GraphScope, data: BindingData, wanted: LiteralType): readonly CompileProblem[] => {
  const many = manyOf(data);
  if (many === undefined) return singleProblems(scope, data, wanted);
  if (variantsOf(wanted)) return unionProblems(scope, data, wanted);
  const inner = innerOf(wanted, many.kind);
  if (inner !== undefined) return many.elements.flatMap((element) => bindingProblems(scope, element, inner));
  const kind = many.kind === 'collectionType' ? 'list' : 'map';
  return [compileProblem('MismatchingBindings', `a ${kind} is bound where ${typeText(wanted)} is expected`)];
};

/**
 * Runs `check` on each binding and reports the problems, duplicate bindings among them.
 *
 * @returns the names of the bound variables.
 */
const eachBinding = (
  scope: GraphScope,
  nodeId: string,
  bindings: readonly Binding[],
  check: (name: string, data: BindingData) => readonly CompileProblem[],
): ReadonlySet<string> => {
  const bound = new Set<string>();
  for (const { var: name, binding } of bindings) {
    const twice = bound.has(name) ? [compileProblem('ParameterBoundMoreThanOnce', 'is bound more than once')] : [];
    const found = binding ? check(name, binding) : [required('a binding')];
    for (const { code, text } of [...twice, ...found])
      scope.report(nodeId, { code, text: `variable ${name}: ${text}` });
    bound.add(name);
  }
  return bound;
};

/** Checks that each binding fits its variable, and that all required variables are bound. */
export const checkBindings = (
  scope: GraphScope,
  { id, inputs }: { readonly id: string; readonly inputs: readonly Binding[] },
  wanted: Types,
  mayLack: (type: LiteralType) => boolean = isOptional,
): void => {
  const bound = eachBinding(scope, id, inputs, (name, data) => {
    const type = wanted.get(name);
    return type
      ? bindingProblems(scope, data, type)
      : [compileProblem('VariableNameNotFound', 'there is no such variable')];
  });
  for (const [name, type] of wanted) {
    if (!bound.has(name) && !mayLack(type))
      scope.report(id, compileProblem('ParameterNotBound', `variable ${name} is not bound`));
  }
};

/** The variables of a node whose interface consists of its own bindings, as that of an approval does. */
export const boundTypes = (
  scope: GraphScope,
  { id, inputs }: { readonly id: string; readonly inputs: readonly Binding[] },
): Types => {
  const types = new Map<string, LiteralType>();
  eachBinding(scope, id, inputs, (name, data) => {
    const source = typeOfBinding(scope, data);
    if (source && 'type' in source) types.set(name, source.type);
    return source && 'problem' in source ? [source.problem] : [];
  });
  return types;
};
