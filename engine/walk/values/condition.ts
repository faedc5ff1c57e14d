import {
  type BooleanExpression,
  type ComparisonExpression,
  ComparisonExpression_Operator as Operator,
  ConjunctionExpression_LogicalOperator as Logical,
  type Operand,
} from '../../../proto/gen/platformidl/core/condition_pb.js';
import { type Primitive, type Scalar } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type Literals, ofScalar, withoutUnion } from './literal-values.js';
import { type PlainValue, unpack } from './msgpack.js';

type Comparable = bigint | number | string | boolean | undefined;

const NANOS = 1_000_000_000n;

const ofPrimitive = (primitive: Primitive): Comparable => {
  const value = primitive.value;
  if (value.case === 'datetime' || value.case === 'duration') {
    return value.value.seconds * NANOS + BigInt(value.value.nanos);
  }
  return value.value;
};

const ofPlain = (value: PlainValue): Comparable => {
  if (value === null) return undefined;
  if (typeof value !== 'object') return value;
  return '$float' in value && typeof value.$float === 'number' ? value.$float : undefined;
};

/** The comparable value of a scalar; `undefined` for none and for values without an order. */
const ofScalarValue = (scalar: Scalar | undefined): Comparable => {
  const value = scalar?.value;
  if (value?.case === 'primitive') return ofPrimitive(value.value);
  return value?.case === 'binary' ? ofPlain(unpack(value.value.value)) : undefined;
};

const unwrapped = (scalar: Scalar): Scalar | undefined => {
  const literal = withoutUnion(ofScalar(scalar));
  return literal.value.case === 'scalar' ? literal.value.value : undefined;
};

const operandOf = (operand: Operand | undefined, inputs: Literals): Comparable => {
  const value = operand?.val;
  // oxlint-disable-next-line typescript/no-deprecated -- the Python SDK sends constants only so
  if (value?.case === 'primitive') return ofPrimitive(value.value);
  if (value?.case === 'scalar') return ofScalarValue(unwrapped(value.value));
  const literal = value?.case === 'var' ? inputs[value.value] : undefined;
  return literal?.value.case === 'scalar' ? ofScalarValue(unwrapped(literal.value.value)) : undefined;
};

const isNumber = (value: Comparable): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** True for equal values; an integer and a float are compared by value, exactly also beyond 2^53. */
const isSame = (left: Comparable, right: Comparable): boolean =>
  left === right || (isNumber(left) && isNumber(right) && left <= right && left >= right);

/**
 * Compares two values: -1, 0 or 1 as the left is below, equal to or above the right. A missing value is below all
 * others.
 */
const order = (left: Comparable, right: Comparable): number => {
  if (isSame(left, right)) return 0;
  if (left === undefined) return -1;
  return right !== undefined && left < right ? -1 : 1;
};

const HOLDS: Readonly<Record<Operator, (order: number) => boolean>> = {
  [Operator.EQ]: (each) => each === 0,
  [Operator.NEQ]: (each) => each !== 0,
  [Operator.GT]: (each) => each > 0,
  [Operator.GTE]: (each) => each >= 0,
  [Operator.LT]: (each) => each < 0,
  [Operator.LTE]: (each) => each <= 0,
};

const compare = (expression: ComparisonExpression, inputs: Literals): boolean =>
  HOLDS[expression.operator](order(operandOf(expression.leftValue, inputs), operandOf(expression.rightValue, inputs)));

/** True when a condition holds for the inputs of its branch node. */
export const holds = (condition: BooleanExpression | undefined, inputs: Literals): boolean => {
  const expression = condition?.expr;
  if (expression?.case === 'comparison') return compare(expression.value, inputs);
  if (expression?.case !== 'conjunction') return false;
  const { operator, leftExpression, rightExpression } = expression.value;
  return operator === Logical.AND
    ? holds(leftExpression, inputs) && holds(rightExpression, inputs)
    : holds(leftExpression, inputs) || holds(rightExpression, inputs);
};
