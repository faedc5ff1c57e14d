import { create } from '@bufbuild/protobuf';

import {
  type TaskExecution,
  type TaskExecutionClosure,
  TaskExecutionClosureSchema,
} from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import { type ExecutionError, TaskExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { inferredEnd, SUCCEEDED } from '../query/inferred-end.js';
import { shownLogs } from './logs.js';
import { shownMetadata } from './metadata.js';

/** An attempt of a task, folded from its events. */
export type TaskExecutionDocument = {
  /** The message with all log links, and with the result that the engine reported, in any phase. */
  readonly task: TaskExecution;
  /** Position of its first event. */
  readonly recorded: number;
  /** The latest reported version of the current phase. */
  phaseVersion: number;
  /**
   * Phase in which the execution ended while this attempt was open; empty once the engine has reported the attempt's
   * end.
   */
  closedBy: string;
  /**
   * Revisions of the events that contain the values of the inputs and outputs; `null` when there are none, or when the
   * engine reported only their location in its storage.
   */
  inputsRevision: number | null;
  outputsRevision: number | null;
};

/** Final phases. */
export const TERMINAL: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.ABORTED, Phase.FAILED]);

/** Gives the closure of a task execution, and adds an empty one when there is none. */
export const closureOf = (task: TaskExecution): TaskExecutionClosure =>
  (task.closure ??= create(TaskExecutionClosureSchema));

type Result = TaskExecutionClosure['outputResult'];

const NONE: Result = { case: undefined };

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/**
 * Result of an attempt that was still open when its execution ended: an error, except after a success, which did not
 * need the attempt.
 */
const inferredResult = (closedBy: string, reported: Result): Result =>
  closedBy === SUCCEEDED
    ? NONE
    : errorResult(inferredEnd(closedBy, reported.case === 'error' ? reported.value : undefined));

/** The result shown to readers: only after the attempt has ended or failed, and no error for a success. */
const shownResult = ({ task, closedBy }: TaskExecutionDocument): Result => {
  const { phase, outputResult: result } = closureOf(task);
  if (closedBy) return inferredResult(closedBy, result);
  if (result.case === undefined) return result;
  if (phase === Phase.SUCCEEDED) return result.case === 'error' ? NONE : result;
  if (phase === Phase.RETRYABLE_FAILED) return result.case === 'error' ? result : NONE;
  return TERMINAL.has(phase) ? result : NONE;
};

/**
 * Makes the task execution that GetTaskExecution returns. When all logs, metadata and the result are shown, it is the
 * stored task execution itself, without a copy.
 */
export const getAnswer = (document: TaskExecutionDocument): TaskExecution => {
  const { task } = document;
  const closure = closureOf(task);
  const logs = shownLogs(closure.logs, closure.phase);
  const metadata = shownMetadata(closure.metadata, closure.phase);
  const outputResult = shownResult(document);
  const isAll = logs === closure.logs && metadata === closure.metadata && outputResult === closure.outputResult;
  return isAll ? task : { ...task, closure: { ...closure, logs, outputResult, ...(metadata && { metadata }) } };
};

/** Makes the task execution that lists return, from the one that `getAnswer` gives: values of outputs are omitted. */
export const listElement = (task: TaskExecution): TaskExecution => {
  const closure = closureOf(task);
  return closure.outputResult.case === 'outputData' ? { ...task, closure: { ...closure, outputResult: NONE } } : task;
};
