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

/** An execution, folded from its events. */
export type ExecutionDocument = {
  /** The closure has the result that the engine reported; a termination hides that result but never replaces it. */
  readonly execution: Execution;
  /** Fields set by the first event; they never change. */
  readonly origin: Origin;
  /** The last requested termination. */
  abort: { readonly cause: string; readonly principal: string } | undefined;
  /** Revision of the event that contains the outputs themselves. */
  outputsRevision: number | null;
};

/** The closure, created when it is missing. */
export const closureOf = (execution: Execution): ExecutionClosure =>
  (execution.closure ??= create(ExecutionClosureSchema));

type Result = ExecutionClosure['outputResult'];

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/**
 * An engine that aborts an execution by itself reports the cause as an error, which the closure cannot hold together
 * with abort metadata.
 */
const abortResult = ({ abort, execution }: ExecutionDocument): Extract<Result, { case: 'abortMetadata' }> => {
  const { outputResult: result } = closureOf(execution);
  const cause = result.case === 'error' ? result.value.message : '';
  return { case: 'abortMetadata', value: create(AbortMetadataSchema, abort ?? { cause }) };
};

const showsAbort = ({ abort, execution }: ExecutionDocument): boolean => {
  const { phase, outputResult: result } = closureOf(execution);
  if (phase === Phase.ABORTED) return true;
  return abort !== undefined && (phase === Phase.ABORTING || result.case === undefined);
};

const withClosure = (execution: Execution, changed: Partial<ExecutionClosure>): Execution => ({
  ...execution,
  closure: { ...closureOf(execution), ...changed },
});

/** The execution as Get returns it; the document's own message when nothing has to be hidden. */
export const getAnswer = (document: ExecutionDocument): Execution =>
  showsAbort(document) ? withClosure(document.execution, { outputResult: abortResult(document) }) : document.execution;

/** The execution as lists return it: errors shortened, outputs omitted. Inputs are not in the document. */
export const listElement = (execution: Execution): Execution => {
  const { outputResult: result } = closureOf(execution);
  if (result.case === 'outputData') return withClosure(execution, { outputResult: { case: undefined } });
  if (result.case !== 'error') return execution;
  const message = clip(result.value.message);
  if (message === result.value.message) return execution;
  return withClosure(execution, { outputResult: errorResult({ ...result.value, message }) });
};
