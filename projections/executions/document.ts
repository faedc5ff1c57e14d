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
import type { SpecInputs } from './spec-inputs.js';

/** An execution, folded from its events. */
export type ExecutionDocument = {
  /**
   * The closure has the result that the engine reported. Answers may show the termination in place of this result (see
   * `showsAbort`); it is kept here all the same.
   */
  readonly execution: Execution;
  /** The inputs that came in the spec, kept apart from `execution` because to encode large ones takes milliseconds. */
  readonly specInputs: SpecInputs | undefined;
  /** Fields set when the execution was created; they never change. */
  readonly origin: Origin;
  /**
   * The termination that was requested last, by a caller or because of a timeout. Where the engine did not carry it out
   * in time and the control plane ended the execution itself, the cause and principal of this end.
   */
  abort: { readonly cause: string; readonly principal: string } | undefined;
  /**
   * Revision of the event that contains the values of the outputs; `null` when there are no outputs, or when the engine
   * reported only their location in its storage.
   */
  outputsRevision: number | null;
};

/** Gives the closure of an execution, and adds an empty one when there is none. */
export const closureOf = (execution: Execution): ExecutionClosure =>
  (execution.closure ??= create(ExecutionClosureSchema));

type Result = ExecutionClosure['outputResult'];

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/**
 * Makes the abort metadata that an answer shows: those of the requested termination. An engine may also abort an
 * execution without a request; it then reports the cause as an error, whose message becomes the cause.
 */
const abortResult = ({ abort, execution }: ExecutionDocument): Extract<Result, { case: 'abortMetadata' }> => {
  const { outputResult: result } = closureOf(execution);
  const cause = result.case === 'error' ? result.value.message : '';
  return { case: 'abortMetadata', value: create(AbortMetadataSchema, abort ?? { cause }) };
};

/** True when answers show abort metadata in place of the result: the closure has a field for only one of the two. */
const showsAbort = ({ abort, execution }: ExecutionDocument): boolean => {
  const { phase, outputResult: result } = closureOf(execution);
  if (phase === Phase.ABORTED) return true;
  return abort !== undefined && (phase === Phase.ABORTING || result.case === undefined);
};

const withClosure = (execution: Execution, changed: Partial<ExecutionClosure>): Execution => ({
  ...execution,
  closure: { ...closureOf(execution), ...changed },
});

/**
 * Makes the execution that GetExecution returns, except for the inputs in its spec: with abort metadata in place of the
 * result where `showsAbort` says so, otherwise the stored execution itself, without a copy.
 */
export const getAnswer = (document: ExecutionDocument): Execution =>
  showsAbort(document) ? withClosure(document.execution, { outputResult: abortResult(document) }) : document.execution;

/**
 * Makes the execution that lists return, from the one that `getAnswer` gives: the values of outputs are omitted, and
 * the message of an error is shortened. Inputs in the spec need not be omitted: they are kept apart.
 */
export const listElement = (execution: Execution): Execution => {
  const { outputResult: result } = closureOf(execution);
  if (result.case === 'outputData') return withClosure(execution, { outputResult: { case: undefined } });
  if (result.case !== 'error') return execution;
  const message = clip(result.value.message);
  if (message === result.value.message) return execution;
  return withClosure(execution, { outputResult: errorResult({ ...result.value, message }) });
};
