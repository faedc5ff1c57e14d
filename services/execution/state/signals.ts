import { toBinary } from '@bufbuild/protobuf';

import { LiteralTypeSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { SignalCreated, SignalSet } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Texts } from './texts.js';

/**
 * The state of a signal that decisions need: of its value only the digest, to recognize a repetition, and the revision.
 */
export type SignalState = {
  /** `core.LiteralType`, kept encoded because that takes the least memory. */
  readonly type: Uint8Array;
  /** The revision of the event that has the value; absent until the signal is set. */
  readonly setAt?: number;
  readonly digest?: Uint8Array;
};

export type Signals = {
  /** Absent until the first signal is created: most executions have none. */
  signals: Map<string, SignalState> | undefined;
  /** The size of all signal types, in bytes. */
  signalTypeBytes: number;
};

/** The approximate memory of a signal without its type and id, in bytes. */
export const SIGNAL_BYTES = 550;

export const evolveSignalCreated = (state: Signals & Texts, { signalId, type }: SignalCreated): void => {
  const encoded = type === undefined ? new Uint8Array() : toBinary(LiteralTypeSchema, type);
  state.signals ??= new Map();
  state.signals.set(signalId, { type: encoded });
  state.signalTypeBytes += encoded.length;
  state.textBytes += signalId.length;
};

/** `state.events` does not count this event yet, so it equals the revision of the event. */
export const evolveSignalSet = (
  state: Signals & { readonly events: number },
  { signalId, digest }: SignalSet,
): void => {
  const known = state.signals?.get(signalId);
  // Copied: the decoded bytes are a view of the whole event and would keep it in memory.
  if (known !== undefined)
    state.signals?.set(signalId, { type: known.type, setAt: state.events, digest: digest.slice() });
};
