import { create } from '@bufbuild/protobuf';

import {
  type ExecutionError,
  ExecutionError_ErrorKind,
  ExecutionErrorSchema,
} from '../../proto/gen/platformidl/core/execution_pb.js';

/** The error of what was open when its execution ended in a phase, for as long as the engine has not said how it ended. */
export const inferredEnd = (phase: string): ExecutionError =>
  create(ExecutionErrorSchema, {
    code: 'ExecutionEnded',
    message: `inferred: the execution ended ${phase} while this was open, and the engine has not reported its end`,
    kind: ExecutionError_ErrorKind.SYSTEM,
  });
