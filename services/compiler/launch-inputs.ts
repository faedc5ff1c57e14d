import { toBinary, create } from '@bufbuild/protobuf';
import type { ParameterMap, Parameter } from '../../proto/gen/platformidl/core/interface_pb.js';
import { type LiteralMap, LiteralMapSchema, type Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import { isCastable } from './types/castability.js';
import { typeOfLiteral } from './types/literal-type.js';
import { NONE } from './types/types.js';
import { typeText } from './types/type-text.js';

/** The complete inputs of an execution, or the problem of the given ones. */
export type ResolvedInputs = { readonly inputs: LiteralMap } | { readonly problem: string };

const givenProblem = (name: string, literal: Literal, parameter: Parameter | undefined): string | undefined => {
  if (parameter === undefined) return `invalid input ${name}`;
  const [type, wanted] = [typeOfLiteral(literal), parameter.var?.type ?? NONE];
  if (type === undefined) return `Failed to validate literal type for [${name}] with err: a part of it has no value`;
  if (isCastable(type, wanted)) return undefined;
  return `invalid ${name} input wrong type. Expected ${typeText(wanted)}, but got ${typeText(type)}`;
};

const problemOf = (
  parameters: ReadonlyMap<string, Parameter>,
  fixed: ReadonlyMap<string, Literal>,
  given: ReadonlyMap<string, Literal>,
): string | undefined => {
  for (const [name, literal] of given) {
    const found = givenProblem(name, literal, parameters.get(name));
    if (found !== undefined) return found;
  }
  for (const [name, { behavior }] of parameters) {
    if (behavior.case === 'required' && behavior.value && !given.has(name)) return `expected_inputs ${name} missing`;
    if (fixed.has(name)) return `fixed_inputs ${name} cannot be overridden`;
  }
  return undefined;
};

const literals = (map: LiteralMap | undefined): Map<string, Literal> => new Map(Object.entries(map?.literals ?? {}));

/**
 * Completes the given inputs with the fixed inputs and the defaults of the rest. Names are sorted, so that the bytes do
 * not depend on the order of the given inputs.
 */
export const resolveInputs = (
  expected: ParameterMap | undefined,
  fixedInputs: LiteralMap | undefined,
  givenInputs: LiteralMap | undefined,
): ResolvedInputs => {
  const parameters = new Map(Object.entries(expected?.parameters ?? {}));
  const [fixed, given] = [literals(fixedInputs), literals(givenInputs)];
  const problem = problemOf(parameters, fixed, given);
  if (problem !== undefined) return { problem };
  const defaults = [...parameters].flatMap(([name, { behavior }]) =>
    behavior.case === 'default' ? [[name, behavior.value] as const] : [],
  );
  const resolved = [...new Map([...defaults, ...given, ...fixed])].sort(([a], [b]) => (a < b ? -1 : 1));
  return { inputs: create(LiteralMapSchema, { literals: Object.fromEntries(resolved) }) };
};

/** The expected parameters and the fixed inputs that the inputs of an execution are checked against. */
export type ExpectedInputs = { readonly expected: ParameterMap; readonly fixed: LiteralMap | undefined };

/** The complete inputs and those that the caller gave, each an encoded `core.LiteralMap`; or the problem found. */
export type LaunchInputs =
  | { readonly inputs: Uint8Array; readonly userInputs: Uint8Array }
  | { readonly problem: string };

/** Completes and encodes the inputs of an execution. The literals in `given` must have been checked. */
export const launchInputs = (given: LiteralMap, { expected, fixed }: ExpectedInputs): LaunchInputs => {
  const resolved = resolveInputs(expected, fixed, given);
  if ('problem' in resolved) return resolved;
  return { inputs: toBinary(LiteralMapSchema, resolved.inputs), userInputs: toBinary(LiteralMapSchema, given) };
};
