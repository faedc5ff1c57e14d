import {
  AppendTooLarge,
  CheckpointMoved,
  CorruptEvent,
  CorruptPayload,
  DataDirectoryInUse,
  DataDirectoryUnusable,
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

/** A fault as it crosses to another thread, where errors lose their class; its cause stays behind. */
export type CrossingFault = {
  readonly fault: FaultCode;
  /** The arguments that make the fault again. */
  readonly parts: readonly unknown[];
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

/** Makes a message to another thread of a fault. */
export const crossingOf = (fault: Fault): CrossingFault => ({ fault: fault.code, parts: fault.parts() });

/** Makes the fault again of what {@link crossingOf} has made of it. */
export const faultOf = ({ fault, parts }: CrossingFault): Fault => new CLASSES[fault](...(parts as never[]));
