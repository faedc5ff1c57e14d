import type {
  BooleanExpression,
  ComparisonExpression,
  Operand,
} from '../../../proto/gen/platformidl/core/condition_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { isCastable } from '../types/castability.js';
import { type CompileProblem, compileProblem, required } from '../compile-error.js';
import { typeOfPrimitive, typeOfScalar } from '../types/literal-type.js';
import type { Source } from './promise.js';
import type { Types } from '../types/types.js';
import { typeText } from '../types/type-text.js';

const known = (type: LiteralType | undefined): Source =>
  type ? { type } : { problem: required('a value of the operand') };

/** The type of an operand. `bound` has all variables of the branch: those without a type are reported already. */
const operandSource = (operand: Operand | undefined, variables: Types, bound: ReadonlySet<string>): Source => {
  const value = operand?.val;
  // oxlint-disable-next-line typescript/no-deprecated -- the Python SDK sends constants only so
  if (value?.case === 'primitive') return known(typeOfPrimitive(value.value));
  if (value?.case === 'scalar') return known(typeOfScalar(value.value));
  if (value?.case !== 'var') return { problem: required('both operands of a comparison') };
  const type = variables.get(value.value);
  if (type) return { type };
  if (bound.has(value.value)) return undefined;
  return {
    problem: compileProblem(
      'VariableNameNotFound',
      `the condition's operand ${value.value} is not bound by the branch`,
    ),
  };
};

const comparisonProblems = (
  { leftValue, rightValue }: ComparisonExpression,
  variables: Types,
  bound: ReadonlySet<string>,
): readonly CompileProblem[] => {
  const sources = [leftValue, rightValue].map((operand) => operandSource(operand, variables, bound));
  const types = sources.flatMap((source) => (source && 'type' in source ? source.type : []));
  const [left, right] = types;
  if (left && right && !(isCastable(left, right) && isCastable(right, left)))
    return [compileProblem('MismatchingTypes', `the condition compares ${typeText(left)} with ${typeText(right)}`)];
  return sources.flatMap((source) => (source && 'problem' in source ? source.problem : []));
};

/** The problems of the condition of a case. */
export const conditionProblems = (
  expression: BooleanExpression | undefined,
  variables: Types,
  bound: ReadonlySet<string>,
): readonly CompileProblem[] => {
  const part = expression?.expr;
  if (part?.case === 'comparison') return comparisonProblems(part.value, variables, bound);
  if (part?.case !== 'conjunction')
    return [compileProblem('BranchNodeHasNoCondition', 'a case, or a part of it, has no condition')];
  const { leftExpression, rightExpression } = part.value;
  return [leftExpression, rightExpression].flatMap((each) => conditionProblems(each, variables, bound));
};
