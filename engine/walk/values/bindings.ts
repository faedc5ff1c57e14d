import { create } from '@bufbuild/protobuf';
import {
  type Binding,
  type BindingData,
  type Literal,
  LiteralSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type OutputReference, type PromiseAttribute } from '../../../proto/gen/platformidl/core/types_pb.js';
import { collection, type Literals, mapLiteral, ofScalar, packed, withoutUnion } from './literal-values.js';
import { pack, type PlainValue, valueAtPath, unpack } from './msgpack.js';

/** Outputs of the nodes of one graph, by node id; `start-node` has the graph's inputs. */
export type NodeOutputs = ReadonlyMap<string, Literals>;

export const START_NODE = 'start-node';
export const END_NODE = 'end-node';

type Step = string | number;

const stepOf = (attribute: PromiseAttribute): Step => attribute.value.value ?? '';

const packPlain = (value: PlainValue | undefined): Literal | undefined =>
  value === undefined ? undefined : packed(pack(value));

const intoScalar = (literal: Literal, path: readonly Step[]): Literal | undefined => {
  const value = literal.value.case === 'scalar' ? literal.value.value.value : undefined;
  if (value?.case === 'binary') return packPlain(valueAtPath(unpack(value.value.value), path));
  return value?.case === 'generic' ? packPlain(valueAtPath(value.value, path)) : undefined;
};

/** Follows an attribute path through lists, maps and data classes. */
const follow = (from: Literal | undefined, path: readonly Step[]): Literal | undefined => {
  const [first, ...rest] = path;
  if (from === undefined || first === undefined) return from;
  const literal = withoutUnion(from);
  if (literal.value.case === 'collection') return follow(literal.value.value.literals[Number(first)], rest);
  if (literal.value.case === 'map') return follow(literal.value.value.literals[String(first)], rest);
  return intoScalar(literal, path);
};

const promised = (promise: OutputReference, values: NodeOutputs): Literal | undefined =>
  follow(values.get(promise.nodeId || START_NODE)?.[promise.var], promise.attrPath.map(stepOf));

const isPresent = <T>(value: T | undefined): value is T => value !== undefined;

/** Resolves a binding to its literal; `undefined` when the promised output is missing. */
const resolve = (binding: BindingData | undefined, values: NodeOutputs): Literal | undefined => {
  const value = binding?.value;
  switch (value?.case) {
    case 'scalar':
      return ofScalar(value.value);
    case 'collection':
      return collection(value.value.bindings.map((each) => resolve(each, values)).filter(isPresent));
    case 'map':
      return mapLiteral(resolveEach(Object.entries(value.value.bindings), values));
    case 'promise':
      return promised(value.value, values);
    case 'offloadedMetadata':
      return create(LiteralSchema, { value });
    case undefined:
      return undefined;
  }
};

const resolveEach = (
  bindings: readonly (readonly [string, BindingData | undefined])[],
  values: NodeOutputs,
): Literals =>
  Object.fromEntries(
    bindings.flatMap(([name, each]) => {
      const literal = resolve(each, values);
      return literal ? [[name, literal]] : [];
    }),
  );

/** Resolves the inputs of a node from its bindings. */
export const nodeInputs = (bindings: readonly Binding[], values: NodeOutputs): Literals =>
  resolveEach(
    bindings.map((each) => [each.var, each.binding]),
    values,
  );
