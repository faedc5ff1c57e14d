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

/** An attempt of a task as its events have told it. */
export type TaskDocument = {
  /** With all log links, and the last result that the engine gave, in whatever phase. */
  readonly task: TaskExecution;
  /** The position of its first event. */
  readonly recorded: number;
  /** The version last seen of the present phase. */
  phaseVersion: number;
  /** The phase in which the execution ended while this was open; empty once the engine has said how it ended. */
  closedBy: string;
  /** Revisions of the events that carried inputs and outputs themselves. */
  inputsAt: number | null;
  outputsAt: number | null;
};

/** The phases that nothing leaves. */
export const TERMINAL: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.ABORTED, Phase.FAILED]);

/** The closure, which every task execution has. */
export const closureOf = (task: TaskExecution): TaskExecutionClosure =>
  (task.closure ??= create(TaskExecutionClosureSchema));

type Result = TaskExecutionClosure['outputResult'];

const NONE: Result = { case: undefined };

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/** An execution that succeeded did not lack what was open at its end: no error says so. */
const inferredResult = (closedBy: string): Result =>
  closedBy === SUCCEEDED ? NONE : errorResult(inferredEnd(closedBy));

/** A result is for readers once the attempt has ended or failed, and a failure is not how a success came about. */
const shownResult = ({ task, closedBy }: TaskDocument): Result => {
  if (closedBy) return inferredResult(closedBy);
  const { phase, outputResult: result } = closureOf(task);
  if (result.case === undefined) return result;
  if (phase === Phase.SUCCEEDED) return result.case === 'error' ? NONE : result;
  if (phase === Phase.RETRYABLE_FAILED) return result.case === 'error' ? result : NONE;
  return TERMINAL.has(phase) ? result : NONE;
};

/** The task execution as Get answers it; the document's own message when nothing of it is hidden. */
export const shown = (document: TaskDocument): TaskExecution => {
  const { task } = document;
  const closure = closureOf(task);
  const logs = shownLogs(closure.logs, closure.phase);
  const metadata = shownMetadata(closure.metadata, closure.phase);
  const outputResult = shownResult(document);
  const isAll = logs === closure.logs && metadata === closure.metadata && outputResult === closure.outputResult;
  return isAll ? task : { ...task, closure: { ...closure, logs, outputResult, ...(metadata && { metadata }) } };
};

/** The task execution as lists show it: outputs left out. */
export const listed = (task: TaskExecution): TaskExecution => {
  const closure = closureOf(task);
  return closure.outputResult.case === 'outputData' ? { ...task, closure: { ...closure, outputResult: NONE } } : task;
};
