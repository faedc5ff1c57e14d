import { toBinary } from '@bufbuild/protobuf';

import { LiteralTypeSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { SignalCreated, SignalSet } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';

/** What decisions need of a signal: of its value no more than what tells a repetition, and where it is recorded. */
export type SignalState = {
  /** `core.LiteralType`; encoded it takes the least room. */
  readonly type: Uint8Array;
  /** The revision of the event that has the value; absent until somebody has given it. */
  readonly setAt?: number;
  readonly digest?: Uint8Array;
};

export type Signals = {
  /** Most executions have none. */
  signals: Map<string, SignalState> | undefined;
  /** What the types of the signals take, in bytes. */
  signalTypeBytes: number;
};

/** Roughly what a signal takes besides its type, in bytes. */
export const SIGNAL_BYTES = 550;

export const evolveSignalCreated = (state: Signals, { signalId, type }: SignalCreated): void => {
  const encoded = type === undefined ? new Uint8Array() : toBinary(LiteralTypeSchema, type);
  state.signals ??= new Map();
  state.signals.set(signalId, { type: encoded });
  state.signalTypeBytes += encoded.length;
};

/** Before an event is counted, the count of events is its revision. */
export const evolveSignalSet = (
  state: Signals & { readonly events: number },
  { signalId, digest }: SignalSet,
): void => {
  const known = state.signals?.get(signalId);
  // A copy: what was decoded is a view of its event, and would keep all of that.
  if (known !== undefined)
    state.signals?.set(signalId, { type: known.type, setAt: state.events, digest: digest.slice() });
};
