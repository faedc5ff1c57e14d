import {
  type ExecutionCreated,
  ExecutionCreatedSchema,
  type ExecutionExpired,
  ExecutionExpiredSchema,
  type ExecutionStateChanged,
  ExecutionStateChangedSchema,
  type ExecutionTagged,
  ExecutionTaggedSchema,
  type SignalCreated,
  SignalCreatedSchema,
  type SignalSet,
  SignalSetSchema,
  type ExecutionVoided,
  ExecutionVoidedSchema,
  type TerminationRequested,
  type TerminationAnnounced,
  TerminationAnnouncedSchema,
  TerminationRequestedSchema,
  type WorkLeased,
  WorkLeasedSchema,
  type WorkReturned,
  WorkReturnedSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  type EventShape,
  eventShape,
  messageCodec,
  type Shapes,
  sinceFormat,
} from '../kernel/encoding/message-codec.js';
import type { RecordedEvent } from '../kernel/event.js';
import { FORMAT_WITH_LEASES } from '../kernel/log-format.js';
import { decodeEvent } from '../kernel/decode-event.js';
import {
  decodeEngineReported,
  decodeReport,
  encodeEngineReported,
  encodeReport,
  type EngineReport,
  type Entity,
} from './wire/engine-report.js';
import { isTerminal } from './phases.js';

// Projections and the JSON of events may import only this file of the slice: these exports are for them.
export type { EngineReport } from './wire/engine-report.js';
export { reportedEntity } from './wire/engine-report.js';
export { type FlatFields, flatFields } from './wire/flat-fields.js';
export { readNodeEvent, type NodeEventFields } from './wire/node-event-fields.js';

/** The reports of engines. */
export type PhaseReported =
  | { readonly type: 'WorkflowPhaseReported'; readonly data: EngineReport }
  | { readonly type: 'NodePhaseReported'; readonly data: EngineReport }
  | { readonly type: 'TaskPhaseReported'; readonly data: EngineReport };

/** The events of an execution, its nodes and its tasks. */
export type ExecutionEvent =
  | { readonly type: 'ExecutionCreated'; readonly data: ExecutionCreated }
  | { readonly type: 'ExecutionVoided'; readonly data: ExecutionVoided }
  | PhaseReported
  | { readonly type: 'TerminationRequested'; readonly data: TerminationRequested }
  | { readonly type: 'TerminationAnnounced'; readonly data: TerminationAnnounced }
  | { readonly type: 'ExecutionExpired'; readonly data: ExecutionExpired }
  | { readonly type: 'ExecutionStateChanged'; readonly data: ExecutionStateChanged }
  | { readonly type: 'ExecutionTagged'; readonly data: ExecutionTagged }
  | { readonly type: 'SignalCreated'; readonly data: SignalCreated }
  | { readonly type: 'SignalSet'; readonly data: SignalSet }
  | { readonly type: 'WorkLeased'; readonly data: WorkLeased }
  | { readonly type: 'WorkReturned'; readonly data: WorkReturned };

/** The first log format with a type for the reports of each entity. */
const REPORTS_BY_ENTITY = 2;

/** The stored type of all reports in logs of format 1. A filter by event type must include it. */
export const ENGINE_REPORTED = 'EngineReported';

const reportShape = (entity: Entity): EventShape<EngineReport> => ({
  encode: encodeReport,
  decode: (bytes) => decodeReport(bytes, entity),
  contents: ({ message, closed }) => [message, closed],
  before: { format: REPORTS_BY_ENTITY, type: ENGINE_REPORTED, encode: encodeEngineReported },
});

/** The event type of a report, by entity. */
export const REPORT_TYPES = {
  workflow: 'WorkflowPhaseReported',
  node: 'NodePhaseReported',
  task: 'TaskPhaseReported',
} as const;

/** Makes the event of a report; its type depends on the entity. */
export const phaseReported = (data: EngineReport): PhaseReported => ({ type: REPORT_TYPES[data.entity], data });

/** Converts an `EngineReported` of schema 1 to the event of its entity. */
const liftEngineReported = (bytes: Uint8Array): ExecutionEvent => phaseReported(decodeEngineReported(bytes));

const shapes: Shapes<ExecutionEvent> = {
  ExecutionCreated: eventShape(ExecutionCreatedSchema, ({ inputs, userInputs }) => [inputs, userInputs]),
  ExecutionVoided: eventShape(ExecutionVoidedSchema),
  WorkflowPhaseReported: reportShape('workflow'),
  NodePhaseReported: reportShape('node'),
  TaskPhaseReported: reportShape('task'),
  TerminationRequested: eventShape(TerminationRequestedSchema),
  TerminationAnnounced: eventShape(TerminationAnnouncedSchema),
  ExecutionExpired: eventShape(ExecutionExpiredSchema, ({ closed }) => [closed]),
  ExecutionStateChanged: eventShape(ExecutionStateChangedSchema),
  ExecutionTagged: eventShape(ExecutionTaggedSchema),
  SignalCreated: eventShape(SignalCreatedSchema),
  SignalSet: eventShape(SignalSetSchema, ({ value }) => [value]),
  WorkLeased: sinceFormat(FORMAT_WITH_LEASES, eventShape(WorkLeasedSchema)),
  WorkReturned: sinceFormat(FORMAT_WITH_LEASES, eventShape(WorkReturnedSchema)),
};

export const executionCodec = messageCodec<ExecutionEvent>(shapes, { [ENGINE_REPORTED]: liftEngineReported });

/** True when this event ends the execution. */
export const endsExecution = (
  event: ExecutionEvent,
): event is Extract<ExecutionEvent, { readonly type: 'ExecutionExpired' | 'WorkflowPhaseReported' }> =>
  event.type === 'ExecutionExpired' ||
  (event.type === 'WorkflowPhaseReported' && !event.data.samePhase && isTerminal('workflow', event.data.phase));

const MAY_END: ReadonlySet<string> = new Set(['WorkflowPhaseReported', ENGINE_REPORTED, 'ExecutionExpired']);

/**
 * True when a recorded event ends its execution. The event is decoded only when its type can end one.
 *
 * @throws {StreamParked} when the event cannot be decoded.
 */
export const recordsEnd = (event: RecordedEvent): boolean =>
  MAY_END.has(event.type) && endsExecution(decodeEvent(executionCodec, event));
