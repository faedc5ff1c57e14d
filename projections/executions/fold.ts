import { clone, create } from '@bufbuild/protobuf';

import {
  type Execution,
  type ExecutionClosure,
  ExecutionMetadataSchema,
  ExecutionSchema,
  type ExecutionSpec,
  ExecutionSpecSchema,
  LiteralMapBlobSchema,
  type SystemMetadata,
  SystemMetadataSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type WorkflowExecutionEvent,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ExecutionEvent } from '../../services/execution/events.js';
import { loadedMessage } from '../runtime/decoded.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { Handler, Handlers } from '../runtime/typed-read-model.js';
import { durationBetween, earliest, latest, timestampOf, timestampOfMs } from '../query/times.js';
import { closureOf, type ExecutionDocument } from './document.js';
import { originOf } from './origin.js';
import { separateInputs } from './spec-inputs.js';

const TERMINAL: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED, Phase.TIMED_OUT]);

type Result = ExecutionClosure['outputResult'];

type EventOf<Type extends ExecutionEvent['type']> = Extract<ExecutionEvent, { readonly type: Type }>;

/** Folds an event of one type into the document. */
type Fold<Type extends ExecutionEvent['type']> = (document: ExecutionDocument, event: SeenEvent<EventOf<Type>>) => void;

const specOf = (execution: Execution): ExecutionSpec => (execution.spec ??= create(ExecutionSpecSchema));

const systemMetadataOf = (execution: Execution): SystemMetadata => {
  const metadata = (specOf(execution).metadata ??= create(ExecutionMetadataSchema));
  return (metadata.systemMetadata ??= create(SystemMetadataSchema));
};

/** Copies the recorded spec, because later events change it and the same event may be folded again. */
const recordedSpec = ({ spec: recorded = create(ExecutionSpecSchema) }: ExecutionCreated) => {
  const { spec, specInputs } = separateInputs(recorded);
  return { spec: clone(ExecutionSpecSchema, spec), specInputs };
};

/** Creates the document from the creation: the execution is queued for an engine. */
const created = (event: SeenEvent<EventOf<'ExecutionCreated'>>): ExecutionDocument => {
  const { data } = event.body;
  const at = timestampOfMs(event.metadata.recordedAtMs);
  const { spec, specInputs } = recordedSpec(data);
  const principal = spec.metadata?.principal ?? '';
  const execution = create(ExecutionSchema, {
    ...(data.id && { id: data.id }),
    spec,
    closure: {
      phase: Phase.QUEUED,
      createdAt: at,
      updatedAt: at,
      notifications: data.notifications,
      ...(data.workflowId && { workflowId: data.workflowId }),
      stateChangeDetails: { occurredAt: at, principal },
    },
  });
  return { execution, specInputs, origin: originOf(data, event), abort: undefined, outputsRevision: null };
};

const resultOf = ({ outputResult: given }: WorkflowExecutionEvent): Result | undefined => {
  if (given.case === undefined) return undefined;
  if (given.case !== 'outputUri') return given;
  const value = create(LiteralMapBlobSchema, { data: { case: 'uri', value: given.value } });
  // oxlint-disable-next-line typescript/no-deprecated -- clients look for the location there and nowhere else
  return { case: 'outputs', value };
};

/**
 * Adds the reported result. With a repeated phase it is added only where there was none; with a new phase it replaces
 * an earlier one.
 *
 * Outputs sent inside the event are shown in the closure as they are: they are stored in the log, so they
 * have no location that could be shown instead. Lists omit them.
 */
const setResult = (
  document: ExecutionDocument,
  message: WorkflowExecutionEvent,
  samePhase: boolean,
  revision: bigint,
): void => {
  const closure = closureOf(document.execution);
  const result = resultOf(message);
  if (result === undefined || (samePhase && closure.outputResult.case !== undefined)) return;
  closure.outputResult = result;
  document.outputsRevision = result.case === 'outputData' ? Number(revision) : null;
};

/**
 * True when an engine other than the default, `propeller`, takes over the execution by reporting it as queued there.
 */
const isTakeover = ({ phase, producerId }: WorkflowExecutionEvent): boolean =>
  phase === Phase.QUEUED && producerId !== '' && producerId !== 'propeller';

/** Sets the phase, and with a terminal phase the duration of an execution that was RUNNING. */
const end = (closure: ExecutionClosure, phase: Phase, at: { seconds: bigint; nanos: number }): void => {
  closure.phase = phase;
  const duration = TERMINAL.has(phase) ? durationBetween(closure.startedAt, at) : undefined;
  if (duration !== undefined) closure.duration = duration;
};

const reported: Fold<'WorkflowPhaseReported'> = (document, event) => {
  const { execution } = document;
  const report = event.body.data;
  const closure = closureOf(execution);
  const at = timestampOf(report.occurredAt);
  const message = loadedMessage(WorkflowExecutionEventSchema, report.message);
  setResult(document, message, report.samePhase, event.revision);
  if (message.phase === Phase.RUNNING) closure.startedAt = earliest(closure.startedAt, at);
  const messagePhase: number = message.phase;
  // The recorded phase counts: an execution that an engine aborts because it has exceeded its time limit is TIMED_OUT.
  if (!report.samePhase) end(closure, messagePhase === report.phase ? message.phase : Phase.TIMED_OUT, at);
  closure.updatedAt = latest(closure.updatedAt, at);
  if (isTakeover(message)) systemMetadataOf(execution).executionCluster = message.producerId;
};

const terminationRequested: Fold<'TerminationRequested'> = (document, { body }) => {
  const { cause, principal } = body.data;
  document.abort = { cause, principal };
  closureOf(document.execution).phase = Phase.ABORTING;
};

const expired: Fold<'ExecutionExpired'> = (document, { body, metadata }) => {
  const { phase, cause, principal } = body.data;
  const closure = closureOf(document.execution);
  const at = timestampOfMs(metadata.recordedAtMs);
  document.abort = { cause, principal };
  end(closure, phase, at);
  closure.updatedAt = latest(closure.updatedAt, at);
};

const stateChanged: Fold<'ExecutionStateChanged'> = ({ execution }, { body, metadata }) => {
  const { state, principal } = body.data;
  closureOf(execution).stateChangeDetails = {
    $typeName: 'platformidl.admin.ExecutionStateChangeDetails',
    state,
    occurredAt: timestampOfMs(metadata.recordedAtMs),
    principal,
  };
};

const tagged: Fold<'ExecutionTagged'> = ({ execution }, { body }) => {
  // oxlint-disable-next-line typescript/no-deprecated -- clients read the tags there
  specOf(execution).tags = [...body.data.tags];
};

/** The events that change the document of an execution; nodes, tasks and signals have views of their own. */
export type FollowedEvent = Exclude<
  ExecutionEvent,
  {
    readonly type:
      | 'NodePhaseReported'
      | 'TaskPhaseReported'
      | 'SignalCreated'
      | 'SignalSet'
      | 'ExecutionVoided'
      | 'TerminationAnnounced'
      | 'WorkLeased'
      | 'WorkReturned';
  }
>;

/** Handles an event of an execution that exists. */
const changes = <Type extends FollowedEvent['type']>(fold: Fold<Type>): Handler<ExecutionDocument, EventOf<Type>> => ({
  fold: (document, event) => {
    if (document) fold(document, event);
    return document;
  },
});

export const handlers: Handlers<ExecutionDocument, FollowedEvent> = {
  ExecutionCreated: { fold: (_, event) => created(event) },
  WorkflowPhaseReported: changes(reported),
  TerminationRequested: changes(terminationRequested),
  ExecutionExpired: changes(expired),
  ExecutionStateChanged: changes(stateChanged),
  ExecutionTagged: changes(tagged),
};
