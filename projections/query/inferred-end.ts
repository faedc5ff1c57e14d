import { create } from '@bufbuild/protobuf';

import {
  type ExecutionError,
  ExecutionError_ErrorKind,
  ExecutionErrorSchema,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { enumName } from './enum-name.js';

/** What `closed_by` says of the good end of an execution. */
export const SUCCEEDED = enumName(WorkflowExecution_Phase, WorkflowExecution_Phase.SUCCEEDED);

/** The error of what was open when its execution ended in a phase, for as long as the engine has not said how it ended. */
export const inferredEnd = (phase: string): ExecutionError =>
  create(ExecutionErrorSchema, {
    code: 'ExecutionEnded',
    message: `inferred: the execution ended ${phase} while this was open, and the engine has not reported its end`,
    kind: ExecutionError_ErrorKind.SYSTEM,
  });
