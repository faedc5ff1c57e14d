import { parentPort } from 'node:worker_threads';
import { fromBinary } from '@bufbuild/protobuf';
import { ParameterMapSchema } from '../../proto/gen/platformidl/core/interface_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { launchInputs, type LaunchInputs } from '../compiler/launch-inputs.js';
import { literalMapProblem } from '../compiler/literal-map.js';
import { decode } from '../gateway/decode.js';
import type { LargeInputs } from './large-launches.js';
import { answerTo, type Asked } from './thread-caller.js';

// Checks and completes large inputs, one after another.
const completed = ({ given, expected, fixed }: LargeInputs): LaunchInputs => {
  const inputs = decode(LiteralMapSchema, given);
  const problem = literalMapProblem('inputs', inputs);
  if (problem !== undefined) return { problem };
  return launchInputs(inputs, {
    expected: fromBinary(ParameterMapSchema, expected),
    fixed: fixed && fromBinary(LiteralMapSchema, fixed),
  });
};

parentPort?.on('message', (asked: Asked<LargeInputs>) => {
  void answerTo(asked, completed).then((answered) => parentPort?.postMessage(answered));
});
