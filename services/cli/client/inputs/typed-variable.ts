import type { ParameterMap, VariableMap } from '../../../../proto/gen/platformidl/core/interface_pb.js';
import type { Literal } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../../proto/gen/platformidl/core/types_pb.js';

/** One input that a launch may give, or one output. */
export type TypedVariable = {
  readonly name: string;
  readonly type: LiteralType;
  readonly description: string;
  readonly isRequired: boolean;
  /** The value where none is given. */
  readonly initial?: Literal;
};

/** The inputs that a launch plan asks for; those that it fixes are not among them. */
export const inputsOfPlan = (expected: ParameterMap | undefined): readonly TypedVariable[] =>
  Object.entries(expected?.parameters ?? {}).flatMap(([name, { var: variable, behavior }]) => {
    if (!variable?.type) return [];
    const isRequired = behavior.case === 'required' && behavior.value;
    const initial = behavior.case === 'default' ? { initial: behavior.value } : {};
    return [{ name, type: variable.type, description: variable.description, isRequired, ...initial }];
  });

/** The inputs or the outputs of an interface. Callers have to give each input: it has no default. */
export const variablesOf = (variables: VariableMap | undefined): readonly TypedVariable[] =>
  Object.entries(variables?.variables ?? {}).flatMap(([name, { type, description }]) =>
    type ? [{ name, type, description, isRequired: true }] : [],
  );
