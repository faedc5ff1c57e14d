import { create } from '@bufbuild/protobuf';

import {
  type Parameter,
  type ParameterMap,
  ParameterMapSchema,
  ParameterSchema,
  type Variable,
  type VariableMap,
  VariableSchema,
} from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Literal, LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { isCastable } from './types/castability.js';
import { literalMapProblem, literalProblem } from './types/literal-map.js';
import { typeOfLiteral } from './types/literal-type.js';
import { NONE, type Types, typesOf } from './types/types.js';
import { typeText } from './types/type-text.js';

/** The inputs of a workflow, and the default and fixed inputs of its launch plan. */
export type PlannedInputs = {
  readonly workflowInputs: VariableMap | undefined;
  readonly defaultInputs: ParameterMap | undefined;
  readonly fixedInputs: LiteralMap | undefined;
};

const FIELD = 'default_inputs';

const parametersOf = (map: ParameterMap | undefined): readonly (readonly [string, Parameter])[] =>
  Object.entries(map?.parameters ?? {});

const literalsOf = (map: LiteralMap | undefined): readonly (readonly [string, Literal])[] =>
  Object.entries(map?.literals ?? {});

const defaultProblem = (name: string, variable: Variable, literal: Literal): string | undefined => {
  const unusable = literalProblem(`${FIELD} ${name}`, literal);
  if (unusable !== undefined) return unusable;
  const [type, wanted] = [typeOfLiteral(literal), variable.type ?? NONE];
  if (type === undefined) return `Failed to validate literal type for [${name}] with err: a part of it has no value`;
  if (isCastable(type, wanted)) return undefined;
  return `Type mismatch for Parameter ${name} in ${FIELD} has type ${typeText(wanted)}, its default ${typeText(type)}`;
};

const parameterProblem = (name: string, { var: variable, behavior }: Parameter): string | undefined => {
  if (name === '') return `missing key in ${FIELD}`;
  if (behavior.case === 'artifactQuery') return `artifact mode not enabled but query found ${FIELD} ${name}`;
  if (variable?.type === undefined)
    return `The Variable component of the Parameter ${name} in ${FIELD} either is missing, or has a missing Type`;
  if (behavior.case === 'default') return defaultProblem(name, variable, behavior.value);
  if (behavior.case === 'required' && behavior.value) return undefined;
  return `Invalid variable ${name} in ${FIELD} - variable has neither default, nor is required. One must be specified`;
};

const superfluous = ({ defaultInputs, fixedInputs }: PlannedInputs): string | undefined => {
  const [defaults, fixed] = [parametersOf(defaultInputs).length, literalsOf(fixedInputs).length];
  if (defaults > 0) return `invalid launch plan default inputs, expected none but found ${defaults}`;
  if (fixed > 0) return `invalid launch plan fixed inputs, expected none but found ${fixed}`;
  return undefined;
};

const defaultFits = (name: string, { var: variable }: Parameter, inputs: Types): string | undefined => {
  const [type, wanted] = [variable?.type ?? NONE, inputs.get(name)];
  if (wanted === undefined) return `unexpected default_input ${name}`;
  if (isCastable(type, wanted)) return undefined;
  return `invalid default_input wrong type ${name}, expected ${typeText(wanted)}, got ${typeText(type)} instead`;
};

const fixedFits = (name: string, literal: Literal, inputs: Types): string | undefined => {
  const [type, wanted] = [typeOfLiteral(literal), inputs.get(name)];
  if (wanted === undefined) return `unexpected fixed_input ${name}`;
  if (type === undefined) return `Failed to validate literal type for [${name}] with err: a part of it has no value`;
  if (isCastable(type, wanted)) return undefined;
  return `invalid fixed_input wrong type ${name}, expected ${typeText(wanted)}, got ${typeText(type)} instead`;
};

/** Returns the first problem that is found; `undefined` when there is none. */
const firstOf = <Item>(items: readonly Item[], problemOf: (item: Item) => string | undefined): string | undefined => {
  for (const item of items) {
    const found = problemOf(item);
    if (found !== undefined) return found;
  }
  return undefined;
};

const mismatch = (planned: PlannedInputs): string | undefined => {
  const inputs = typesOf(planned.workflowInputs);
  if (inputs.size === 0) return superfluous(planned);
  const defaults = parametersOf(planned.defaultInputs);
  const fixed = literalsOf(planned.fixedInputs);
  const isFixed = new Set(fixed.map(([name]) => name));
  return (
    firstOf(defaults, ([name, parameter]) => defaultFits(name, parameter, inputs)) ??
    firstOf(fixed, ([name, literal]) => fixedFits(name, literal, inputs)) ??
    firstOf(defaults, ([name]) =>
      isFixed.has(name) ? `input ${name} is both in fixed_inputs and in ${FIELD}` : undefined,
    )
  );
};

/**
 * Checks the inputs of a launch plan.
 *
 * @returns the problem as the text of the response; `undefined` when there is none.
 */
export const plannedInputsProblem = (planned: PlannedInputs): string | undefined =>
  literalMapProblem('fixed_inputs', planned.fixedInputs) ??
  firstOf(parametersOf(planned.defaultInputs), ([name, parameter]) => parameterProblem(name, parameter)) ??
  mismatch(planned);

const requiredParameter = ({ type, description }: Variable): Parameter =>
  create(ParameterSchema, {
    var: create(VariableSchema, { ...(type && { type }), description }),
    behavior: { case: 'required', value: true },
  });

/**
 * The expected inputs of an execution: the plan's default inputs, and every other input that is not fixed, as a
 * required one. Sorted by name, so that the bytes do not depend on the order in which the workflow has its inputs.
 */
export const expectedInputs = ({ workflowInputs, defaultInputs, fixedInputs }: PlannedInputs): ParameterMap => {
  const defaults = new Map(parametersOf(defaultInputs));
  const isFixed = new Set(literalsOf(fixedInputs).map(([name]) => name));
  const parameters = Object.entries(workflowInputs?.variables ?? {})
    .filter(([name]) => defaults.has(name) || !isFixed.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, variable]) => [name, defaults.get(name) ?? requiredParameter(variable)] as const);
  return create(ParameterMapSchema, { parameters: Object.fromEntries(parameters) });
};
