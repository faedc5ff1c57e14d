import { create } from '@bufbuild/protobuf';

import {
  type Reason,
  ReasonSchema,
  type TaskExecutionClosure,
  TaskExecutionSchema,
} from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import { TaskExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { TaskExecutionEvent } from '../../proto/gen/platformidl/event/event_pb.js';
import type { EngineReport } from '../../services/execution/events.js';
import type { SeenEvent } from '../runtime/read-model.js';
import { durationBetween, earliest, given, type Instant, latest, timestampOf } from '../query/times.js';
import { closureOf, TERMINAL, type TaskExecutionDocument } from './document.js';
import { mergedLogs } from './logs.js';
import { mergePatch } from './merge-patch.js';
import { mergedMetadata } from './metadata.js';

/** Creates the document at the first event of an attempt. */
export const opened = (
  message: TaskExecutionEvent,
  { position }: Pick<SeenEvent, 'position'>,
): TaskExecutionDocument => {
  const { taskId, parentNodeExecutionId: nodeExecutionId, retryAttempt, occurredAt, taskType } = message;
  return {
    task: create(TaskExecutionSchema, {
      id: {
        ...(taskId && { taskId: { ...taskId, resourceType: ResourceType.TASK } }),
        ...(nodeExecutionId && { nodeExecutionId }),
        retryAttempt,
      },
      closure: { taskType, ...(occurredAt && { createdAt: occurredAt }) },
    }),
    recorded: Number(position),
    phaseVersion: 0,
    closedBy: '',
    inputsRevision: null,
    outputsRevision: null,
  };
};

/**
 * Keeps the first reported location of the inputs, and the revision of the first event that has the inputs themselves.
 */
const keepInputs = (document: TaskExecutionDocument, { inputValue }: TaskExecutionEvent, revision: number): void => {
  if (inputValue.case === 'inputUri') document.task.inputUri ||= inputValue.value;
  if (inputValue.case === 'inputData') document.inputsRevision ??= revision;
};

/**
 * Adds the reported result. A new phase, or a new version of the phase, replaces the known result; another event of the
 * phase sets a result only where there was none.
 *
 * Outputs sent inside the event are shown in the closure as they are, because there is no location that could be shown
 * instead. Lists omit them.
 */
const setResult = (
  document: TaskExecutionDocument,
  { outputResult: result }: TaskExecutionEvent,
  isPhaseChange: boolean,
  revision: number,
): void => {
  const closure = closureOf(document.task);
  if (result.case === undefined || (!isPhaseChange && closure.outputResult.case !== undefined)) return;
  closure.outputResult = result;
  document.outputsRevision = result.case === 'outputData' ? revision : null;
};

/** Newer engines send a list of reasons; older ones a single text, repeated from event to event. */
const newReasons = (closure: TaskExecutionClosure, message: TaskExecutionEvent): readonly Reason[] => {
  if (message.reasons.length > 0) {
    return message.reasons.map(({ reason, occurredAt }) =>
      create(ReasonSchema, { message: reason, ...(occurredAt && { occurredAt }) }),
    );
  }
  // oxlint-disable-next-line typescript/no-deprecated -- engines in the field send it
  const { reason, occurredAt } = message;
  if (reason === '' || reason === closure.reason) return [];
  return [create(ReasonSchema, { message: reason, ...(occurredAt && { occurredAt }) })];
};

const keepReasons = (closure: TaskExecutionClosure, message: TaskExecutionEvent): void => {
  const reasons = newReasons(closure, message);
  for (const reason of reasons) closure.reasons.push(reason); // a spread of very many overflows the stack
  closure.reason = reasons.at(-1)?.message ?? closure.reason;
};

const keepDetails = (closure: TaskExecutionClosure, message: TaskExecutionEvent): void => {
  const { customInfo, metadata, logContext } = message;
  closure.logs = mergedLogs(closure.logs, message.logs);
  if (customInfo) closure.customInfo = closure.customInfo ? mergePatch(closure.customInfo, customInfo) : customInfo;
  if (metadata) closure.metadata = mergedMetadata(closure.metadata, metadata);
  if (logContext) closure.logContext = logContext;
};

/**
 * Adds the details of an event that comes after a newer version of its phase, because the engine had to send it again:
 * they replace nothing that is known.
 */
const addLateDetails = (closure: TaskExecutionClosure, message: TaskExecutionEvent): void => {
  const { customInfo, metadata, logContext } = message;
  closure.logs = mergedLogs(message.logs, closure.logs);
  if (customInfo) closure.customInfo = mergePatch(mergePatch({}, customInfo), closure.customInfo ?? {});
  if (metadata) {
    const late = mergedMetadata(undefined, metadata);
    closure.metadata = closure.metadata ? mergedMetadata(late, closure.metadata) : late;
  }
  if (logContext) closure.logContext ??= logContext;
};

const end = (closure: TaskExecutionClosure, phase: Phase, at: Instant): void => {
  closure.phase = phase;
  const duration = TERMINAL.has(phase) ? durationBetween(closure.startedAt, at) : undefined;
  if (duration !== undefined) closure.duration = duration;
};

const keepPhase = (document: TaskExecutionDocument, { phase, phaseVersion }: TaskExecutionEvent, at: Instant): void => {
  const closure = closureOf(document.task);
  document.phaseVersion = phaseVersion;
  end(closure, phase, at);
  document.closedBy = '';
};

/** Folds an engine's event into the attempt. */
export const reported = (
  document: TaskExecutionDocument,
  message: TaskExecutionEvent,
  report: EngineReport,
  event: SeenEvent,
): TaskExecutionDocument => {
  const closure = closureOf(document.task);
  const at = timestampOf(report.occurredAt);
  const revision = Number(event.revision);
  // A higher version of the phase counts as a new phase; an inferred end does not count as reported.
  const isNewPhase = !report.samePhase || (document.closedBy !== '' && TERMINAL.has(message.phase));
  keepInputs(document, message, revision);
  setResult(document, message, isNewPhase, revision);
  keepReasons(closure, message);
  if (isNewPhase || message.phaseVersion >= document.phaseVersion) keepDetails(closure, message);
  else addLateDetails(closure, message);
  closure.eventVersion = Math.max(closure.eventVersion, message.eventVersion);
  if (message.phase === Phase.RUNNING) closure.startedAt = earliest(closure.startedAt, at);
  if (isNewPhase) keepPhase(document, message, at);
  closure.updatedAt = latest(closure.updatedAt, given(message.reportedAt) ?? at);
  return document;
};

/**
 * Aborts an attempt that was open when its execution ended.
 *
 * @param closedBy the phase in which the execution ended.
 */
export const closed = (document: TaskExecutionDocument, closedBy: string, at: Instant): TaskExecutionDocument => {
  const closure = closureOf(document.task);
  if (TERMINAL.has(closure.phase)) return document;
  end(closure, Phase.ABORTED, at);
  closure.updatedAt = latest(closure.updatedAt, timestampOf(at));
  document.closedBy = closedBy;
  return document;
};
