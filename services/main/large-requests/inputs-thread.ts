import { launchInputs, type LaunchInputs } from '../../compiler/launch-inputs.js';
import { literalMapProblem } from '../../compiler/types/literal-map.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { ExpectedInputs } from '../../execution/ports.js';
import { decode } from '../../gateway/decode.js';
import type { LargeRequest } from './large-work.js';
import { answerAll } from '../threads/thread-caller.js';

// This thread checks large inputs of an execution, and adds the default and fixed inputs of its launch plan.
answerAll(({ request, ...against }: LargeRequest<ExpectedInputs>): LaunchInputs => {
  const inputs = decode(LiteralMapSchema, request);
  const problem = literalMapProblem('inputs', inputs);
  return problem === undefined ? launchInputs(inputs, against) : { problem };
});
