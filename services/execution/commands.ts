import type { ExecutionState } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Envelope, ExecutionId } from './wire/envelope.js';

/** What the stream says about an event whose phase was recorded before. */
export type Recollection = {
  /** Nothing before this revision has to be read any more. */
  readonly asOf: number;
  /** The same content was recorded for the same entity, attempt, phase and version. */
  readonly isRepetition: boolean;
};

/** Starts the stream. The request has been resolved: what it comes to is in the command. */
export type CreateExecution = {
  readonly type: 'CreateExecution';
  readonly id: ExecutionId;
  readonly created: ExecutionCreated;
};

/** Makes sure that an attempt can no more create the execution. */
export type VoidExecution = { readonly type: 'VoidExecution'; readonly id: ExecutionId; readonly attempt: string };

/** An engine says which phase an execution, a node or a task has reached. */
export type ReportPhase = {
  readonly type: 'ReportPhase';
  readonly id: ExecutionId;
  readonly envelope: Envelope;
  /** False when the event names a child execution that does not exist. */
  readonly isChildKnown: boolean;
  /** Set once the aggregate was unsure and has read the stream. */
  readonly recollection?: Recollection;
};

export type TerminateExecution = {
  readonly type: 'TerminateExecution';
  readonly id: ExecutionId;
  readonly cause: string;
  readonly principal: string;
};

/** The engine has not ended a terminated execution in time. */
export type ExpireTermination = {
  readonly type: 'ExpireTermination';
  readonly id: ExecutionId;
  /** How long the engine was given, in milliseconds. */
  readonly afterMs: number;
};

/** The execution has outlived the limit of the configuration. */
export type TimeOutExecution = {
  readonly type: 'TimeOutExecution';
  readonly id: ExecutionId;
  /** How long it might have taken, in milliseconds. */
  readonly afterMs: number;
};

export type UpdateExecution = {
  readonly type: 'UpdateExecution';
  readonly id: ExecutionId;
  readonly state: ExecutionState;
  /** Absent leaves the tags as they are. */
  readonly tags: readonly string[] | undefined;
  readonly principal: string;
};

/** A gate asks for a value; one that asks again finds the signal that is there. */
export type CreateSignal = {
  readonly type: 'CreateSignal';
  readonly id: ExecutionId;
  readonly signalId: string;
  readonly wanted: LiteralType;
};

export type SetSignal = {
  readonly type: 'SetSignal';
  readonly id: ExecutionId;
  readonly signalId: string;
  /** `core.Literal`. */
  readonly value: Uint8Array;
  /** Of the value in canonical form. */
  readonly digest: Uint8Array;
  /** Whether the value can stand where a type is wanted, as the compiler has it. */
  readonly isCastableTo: (type: LiteralType) => boolean;
  readonly principal: string;
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
  | SetSignal;
