import { toBinary } from '@bufbuild/protobuf';

import type { ParameterMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { resolveInputs } from './execution-inputs.js';

/** What the inputs of an execution are held against. */
export type ExpectedInputs = { readonly expected: ParameterMap; readonly fixed: LiteralMap | undefined };

/** What an execution runs with and what its caller gave, each the bytes of a map; or what is wrong with it. */
export type LaunchInputs =
  { readonly inputs: Uint8Array; readonly userInputs: Uint8Array } | { readonly problem: string };

/** The inputs of an execution, completed; the given ones are good literals. */
export const launchInputs = (given: LiteralMap, { expected, fixed }: ExpectedInputs): LaunchInputs => {
  const resolved = resolveInputs(expected, fixed, given);
  if ('problem' in resolved) return resolved;
  return { inputs: toBinary(LiteralMapSchema, resolved.inputs), userInputs: toBinary(LiteralMapSchema, given) };
};
