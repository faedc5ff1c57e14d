import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';

import type { ExecutionError } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { OpenEntitiesSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  HistoryEntity,
  type Transition,
  TransitionSchema,
} from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { type EngineReport, type ExecutionEvent, executionCodec, flatFields } from '../../execution/events.js';
import { decodeEvent, readingEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { bytesOf, type Content, type PayloadStore } from '../../kernel/ports/payload-store.js';

type Facts = Exclude<MessageInitShape<typeof TransitionSchema>, Transition>;

/** The longest reason that a transition shows, in characters. */
const MAX_REASON = 2_000;

const ENTITIES = {
  workflow: HistoryEntity.EXECUTION,
  node: HistoryEntity.NODE,
  task: HistoryEntity.TASK,
} as const;

const isReport = (event: ExecutionEvent): event is ExecutionEvent & { readonly data: EngineReport } =>
  event.type === 'WorkflowPhaseReported' || event.type === 'NodePhaseReported' || event.type === 'TaskPhaseReported';

const timestampOf = ({ seconds, nanos }: EngineReport['occurredAt']): Timestamp => ({
  $typeName: 'google.protobuf.Timestamp',
  seconds,
  nanos,
});

/** The cause and the principal that commands other than reports carry in their events. */
const askedBy = ({ type, data }: ExecutionEvent): { readonly principal?: string; readonly reason?: string } => {
  if (type === 'ExecutionCreated') return { principal: data.spec?.metadata?.principal ?? '' };
  if (type === 'TerminationRequested' || type === 'ExecutionExpired')
    return { principal: data.principal, reason: data.cause };
  if (type === 'ExecutionStateChanged' || type === 'ExecutionTagged' || type === 'SignalSet')
    return { principal: data.principal };
  return {};
};

const subjectOf = (event: ExecutionEvent): Facts => {
  if (isReport(event)) {
    const { entity, nodeId, taskId, retryAttempt, phaseVersion, samePhase, producerId, occurredAt } = event.data;
    const report = { phaseVersion, samePhase, producerId, occurredAt: timestampOf(occurredAt) };
    return { entity: ENTITIES[entity], nodeId, ...(taskId && { taskId }), attempt: retryAttempt, ...report };
  }
  if (event.type === 'SignalCreated' || event.type === 'SignalSet')
    return { entity: HistoryEntity.SIGNAL, signalId: event.data.signalId };
  return { entity: HistoryEntity.EXECUTION };
};

const whenAndWho = (event: RecordedEvent): Facts => {
  const { recordedAtMs, actor, $correlationId } = recordedMetadata(event);
  const recordedAt = timestampFromMs(recordedAtMs);
  const { position, revision } = event;
  return { position, revision, occurredAt: recordedAt, recordedAt, principal: actor, requestId: $correlationId ?? '' };
};

const closedBy = ({ type, data }: ExecutionEvent): Content | undefined =>
  type === 'WorkflowPhaseReported' || type === 'ExecutionExpired' ? data.closed : undefined;

/** The nodes and tasks that ended with their execution, in the order of the event. */
const closedIn = async (
  recorded: RecordedEvent,
  content: Content,
  payloads: PayloadStore,
): Promise<readonly Facts[]> => {
  const bytes = await bytesOf(content, payloads);
  const { nodes, tasks } = readingEvent(recorded, () => fromBinary(OpenEntitiesSchema, bytes));
  const ended = { phase: 'ABORTED', endedWithExecution: true };
  return [
    ...nodes.map((nodeId) => ({ ...ended, entity: HistoryEntity.NODE, nodeId })),
    ...tasks.map(({ node: nodeId, taskId, attempt }) => ({
      ...ended,
      entity: HistoryEntity.TASK,
      nodeId,
      attempt,
      ...(taskId && { taskId }),
    })),
  ];
};

/** The transitions of one event: its own first, then those of the nodes and tasks that ended with the execution. */
export type EventTransitions = { readonly event: ExecutionEvent; readonly transitions: readonly Transition[] };

/**
 * Reads the transitions of an event of an execution; the reasons that engines give are not read yet.
 *
 * @throws {StreamParked} when the event cannot be read.
 * @throws {Fault} when a payload that it refers to cannot be read.
 */
export const transitionsOf = async (recorded: RecordedEvent, payloads: PayloadStore): Promise<EventTransitions> => {
  const event = decodeEvent(executionCodec, recorded);
  const { principal = '', reason = '' } = askedBy(event);
  const fixed = whenAndWho(recorded);
  const shared = { ...fixed, type: event.type, ...(fixed.principal === '' && { principal }) };
  const transition = create(TransitionSchema, {
    ...shared,
    phase: flatFields(recorded).phase ?? '',
    reason,
    ...subjectOf(event),
  });
  const closed = closedBy(event);
  if (!closed) return { event, transitions: [transition] };
  const further = await closedIn(recorded, closed, payloads);
  const at = { occurredAt: transition.occurredAt ?? fixed.occurredAt };
  return {
    event,
    transitions: [transition, ...further.map((each) => create(TransitionSchema, { ...shared, ...at, ...each }))],
  };
};

const errorIn = (result: { readonly case: string | undefined; readonly value?: unknown }): string =>
  result.case === 'error' ? (result.value as ExecutionError).message : '';

const reasonIn = ({ entity }: EngineReport, message: Uint8Array): string => {
  if (entity === 'workflow') return errorIn(fromBinary(WorkflowExecutionEventSchema, message).outputResult);
  if (entity === 'node') return errorIn(fromBinary(NodeExecutionEventSchema, message).outputResult);
  // oxlint-disable-next-line typescript/no-deprecated -- older engines give the reason there
  const { outputResult, reasons, reason } = fromBinary(TaskExecutionEventSchema, message);
  return errorIn(outputResult) || (reasons.at(-1)?.reason ?? reason);
};

/**
 * Returns an event's own transition with its reason. Engines give the reason inside their message, which is decoded
 * only for transitions that are shown.
 *
 * @throws {StreamParked} when the message cannot be decoded.
 * @throws {Fault} when the message is stored beside the log and cannot be read.
 */
export const withReason = async (
  {
    event,
    transition,
    recorded,
  }: { readonly event: ExecutionEvent; readonly transition: Transition; readonly recorded: RecordedEvent },
  payloads: PayloadStore,
): Promise<Transition> => {
  const report = isReport(event) ? event.data : undefined;
  const message = report && (await bytesOf(report.message, payloads));
  const reason = report && message ? readingEvent(recorded, () => reasonIn(report, message)) : transition.reason;
  return { ...transition, reason: reason.slice(0, MAX_REASON) };
};
