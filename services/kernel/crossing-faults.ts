import {
  AppendTooLarge,
  CheckpointMoved,
  CorruptEvent,
  CorruptPayload,
  DataDirectoryInUse,
  DataDirectoryUnusable,
  EngineDataUnusable,
  type Fault,
  type FaultCode,
  NewerLogFormat,
  OutcomeUnknown,
  PageTooLarge,
  QueryTooSlow,
  ReadStoreUnusable,
  RevisionConflict,
  StoreUnavailable,
  StreamParked,
  TooManyQueries,
  UnknownEvent,
  WriteRefused,
} from './fault.js';

/** An error as texts, for the log. */
type CrossingCause = { readonly message: string; readonly stack: string | undefined };

/** A fault as it crosses to another thread, where errors lose their class. */
export type CrossingFault = {
  readonly fault: FaultCode;
  /** The constructor arguments that rebuild the fault. */
  readonly parts: readonly unknown[];
  /** The error that caused the fault in the first place, if any. */
  readonly cause?: CrossingCause;
};

/** The class of each fault. A fault of a subclass arrives as the class of its code. */
const CLASSES: { readonly [Code in FaultCode]: new (...parts: never[]) => Fault & { readonly code: Code } } = {
  'revision-conflict': RevisionConflict,
  'append-too-large': AppendTooLarge,
  'store-unavailable': StoreUnavailable,
  'outcome-unknown': OutcomeUnknown,
  'write-refused': WriteRefused,
  'corrupt-event': CorruptEvent,
  'corrupt-payload': CorruptPayload,
  'engine-data-unusable': EngineDataUnusable,
  'unknown-event': UnknownEvent,
  'newer-log-format': NewerLogFormat,
  'stream-parked': StreamParked,
  'checkpoint-moved': CheckpointMoved,
  'query-too-slow': QueryTooSlow,
  'too-many-queries': TooManyQueries,
  'page-too-large': PageTooLarge,
  'read-store-unusable': ReadStoreUnusable,
  'data-directory-in-use': DataDirectoryInUse,
  'data-directory-unusable': DataDirectoryUnusable,
};

const firstCauseOf = ({ cause }: Error): CrossingCause | undefined => {
  if (!(cause instanceof Error)) return undefined;
  return firstCauseOf(cause) ?? { message: cause.message, stack: cause.stack };
};

/** Converts a fault to a message for another thread. */
export const crossingOf = (fault: Fault): CrossingFault => {
  const cause = firstCauseOf(fault);
  return { fault: fault.code, parts: fault.parts(), ...(cause && { cause }) };
};

/**
 * Rebuilds a fault from the result of {@link crossingOf}. Its cause is an `Error` with the message and the stack of the
 * first cause.
 */
export const faultOfCrossing = ({ fault, parts, cause }: CrossingFault): Fault => {
  const made = new CLASSES[fault](...(parts as never[]));
  if (cause) made.cause = Object.assign(new Error(cause.message), { stack: cause.stack });
  return made;
};
