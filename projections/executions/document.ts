import { create } from '@bufbuild/protobuf';

import {
  AbortMetadataSchema,
  type Execution,
  type ExecutionClosure,
  ExecutionClosureSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type ExecutionError,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { clip } from '../query/clip.js';
import type { Origin } from './origin.js';

/** An execution as its events have told it. */
export type ExecutionDocument = {
  /** The result in its closure is the one that the engine gave; a termination hides it, and never replaces it. */
  readonly execution: Execution;
  /** What its first event says of it for good. */
  readonly origin: Origin;
  /** The last termination that was asked for. */
  abort: { readonly cause: string; readonly principal: string } | undefined;
  /** The revision of the event that carried the outputs themselves. */
  outputsAt: number | null;
};

/** The closure, which every execution has. */
export const closureOf = (execution: Execution): ExecutionClosure =>
  (execution.closure ??= create(ExecutionClosureSchema));

type Result = ExecutionClosure['outputResult'];

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/** An engine that aborts on its own account says why in an error, which has no place beside abort metadata. */
const abortResult = ({ abort, execution }: ExecutionDocument): Extract<Result, { case: 'abortMetadata' }> => {
  const result = execution.closure?.outputResult;
  const cause = result?.case === 'error' ? result.value.message : '';
  return { case: 'abortMetadata', value: create(AbortMetadataSchema, abort ?? { cause }) };
};

const showsAbort = ({ abort, execution: { closure } }: ExecutionDocument): boolean => {
  if (closure?.phase === Phase.ABORTED) return true;
  return abort !== undefined && (closure?.phase === Phase.ABORTING || closure?.outputResult.case === undefined);
};

const withClosure = (execution: Execution, changed: Partial<ExecutionClosure>): Execution => ({
  ...execution,
  closure: { ...closureOf(execution), ...changed },
});

/** The execution as Get answers it; the document's own message when nothing of it is hidden. */
export const shown = (document: ExecutionDocument): Execution =>
  showsAbort(document) ? withClosure(document.execution, { outputResult: abortResult(document) }) : document.execution;

/** The execution as lists show it: errors cut, outputs left out. Inputs are not in the document at all. */
export const listed = (execution: Execution): Execution => {
  const { outputResult: result } = closureOf(execution);
  if (result.case === 'outputData') return withClosure(execution, { outputResult: { case: undefined } });
  if (result.case !== 'error') return execution;
  const message = clip(result.value.message);
  if (message === result.value.message) return execution;
  return withClosure(execution, { outputResult: errorResult({ ...result.value, message }) });
};
