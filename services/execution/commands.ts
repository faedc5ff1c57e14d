import type { ExecutionState } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Envelope } from './wire/envelope.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/** The result of comparing a report with the recorded reports that may be the same one. */
export type ReportComparison = {
  /** Events below this revision need not be compared again. */
  readonly asOf: number;
  /** The same content was recorded for the same entity, attempt, phase and version. */
  readonly isRepetition: boolean;
};

/** The request has been resolved before: its result is in the command. */
export type CreateExecution = {
  readonly type: 'CreateExecution';
  readonly id: ExecutionId;
  readonly created: ExecutionCreated;
};

/** Permanently prevents an attempt from creating the execution. */
export type VoidExecution = { readonly type: 'VoidExecution'; readonly id: ExecutionId; readonly attempt: string };

/** An engine reports a phase of an execution, a node or a task. */
export type ReportPhase = {
  readonly type: 'ReportPhase';
  readonly id: ExecutionId;
  readonly envelope: Envelope;
  /** False when the event names a child execution that does not exist. */
  readonly isChildKnown: boolean;
  /** Set when the decider was unsure and the reports that it named have been read. */
  readonly comparison?: ReportComparison;
};

export type TerminateExecution = {
  readonly type: 'TerminateExecution';
  readonly id: ExecutionId;
  readonly cause: string;
  readonly principal: string;
};

/** Sent when the engine has not ended an ABORTING execution in time. */
export type ExpireTermination = {
  readonly type: 'ExpireTermination';
  readonly id: ExecutionId;
  /** The time that the engine had, in milliseconds. */
  readonly afterMs: number;
};

/** Sent when `execution.timeout` has passed since the execution was created. */
export type TimeOutExecution = {
  readonly type: 'TimeOutExecution';
  readonly id: ExecutionId;
  /** The limit, in milliseconds. */
  readonly afterMs: number;
};

export type UpdateExecution = {
  readonly type: 'UpdateExecution';
  readonly id: ExecutionId;
  readonly state: ExecutionState;
  /** The new tags; absent leaves them unchanged. */
  readonly tags: readonly string[] | undefined;
  readonly principal: string;
};

/** A gate node asks for a value. When the signal exists already, the command records nothing. */
export type CreateSignal = {
  readonly type: 'CreateSignal';
  readonly id: ExecutionId;
  readonly signalId: string;
  /** The type that the value of the signal must have. */
  readonly wanted: LiteralType;
};

export type SetSignal = {
  readonly type: 'SetSignal';
  readonly id: ExecutionId;
  readonly signalId: string;
  /** `core.Literal`. */
  readonly value: Uint8Array;
  /** The digest of the value in canonical form. */
  readonly digest: Uint8Array;
  /** True when the compiler's rules let the value be cast to a type. */
  readonly isCastableTo: (type: LiteralType) => boolean;
  readonly principal: string;
};

/** The engine that gets a lease. */
export type Leaseholder = {
  readonly group: string;
  readonly engine: string;
  /** Its session, a UUID. */
  readonly session: string;
  readonly producerId: string;
};

/** Gives the execution to an engine of the feed. */
export type LeaseWork = {
  readonly type: 'LeaseWork';
  readonly id: ExecutionId;
  readonly to: Leaseholder;
  /** The end of the lease unless it is renewed, in milliseconds since 1970. */
  readonly untilMs: number;
  /** The number of the lease that is over, because its session has ended; `undefined` when there is none. */
  readonly over: number | undefined;
};

/** The engine gives its lease back. */
export type ReturnWork = {
  readonly type: 'ReturnWork';
  readonly id: ExecutionId;
  /** The number of the lease. */
  readonly number: number;
  readonly session: string;
  readonly reason: string;
};

export type ExecutionCommand =
  | CreateExecution
  | VoidExecution
  | ReportPhase
  | TerminateExecution
  | ExpireTermination
  | TimeOutExecution
  | UpdateExecution
  | CreateSignal
  | SetSignal
  | LeaseWork
  | ReturnWork;
