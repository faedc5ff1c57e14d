import { toBinary } from '@bufbuild/protobuf';

import type { ParameterMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { resolveInputs } from './execution-inputs.js';

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
