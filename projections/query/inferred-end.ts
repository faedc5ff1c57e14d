import { create } from '@bufbuild/protobuf';

import {
  type ExecutionError,
  ExecutionError_ErrorKind,
  ExecutionErrorSchema,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { enumName } from './enum-name.js';

/** The value of the column `closed_by` for nodes and tasks that were open when their execution succeeded. */
export const SUCCEEDED = enumName(WorkflowExecution_Phase, WorkflowExecution_Phase.SUCCEEDED);

const noteOf = (phase: string): string =>
  `inferred: the execution ended ${phase} while this was open, and the engine has not reported its end`;

/**
 * The error of a node or task that was open when its execution ended in a phase; it applies until the engine reports
 * how the node or task ended. An error that the engine has reported before is kept: it is the better explanation.
 */
export const inferredEnd = (phase: string, reported?: ExecutionError): ExecutionError =>
  reported === undefined
    ? create(ExecutionErrorSchema, {
        code: 'ExecutionEnded',
        message: noteOf(phase),
        kind: ExecutionError_ErrorKind.SYSTEM,
      })
    : { ...reported, message: `${reported.message}; ${noteOf(phase)}` };
