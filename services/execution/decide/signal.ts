import { create, equals, fromBinary } from '@bufbuild/protobuf';

import { type LiteralType, LiteralTypeSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import { SignalCreatedSchema, SignalSetSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { isSameDigest } from '../../kernel/encoding/digest.js';
import type { CreateSignal, SetSignal } from '../commands.js';
import { accepted, refused, type ExecutionDecision } from './report.js';
import { isTerminal } from '../phases.js';
import type { ExecutionState } from '../state.js';
import type { SignalState } from '../state/signals.js';

/**
 * The most signals of an execution. Each gate node waits for one signal, and no known workflow has as many gate nodes.
 */
const MAX_SIGNALS = 10_000;

/** Decodes the type that the value of a signal must have. */
export const typeOfSignal = ({ type }: SignalState): LiteralType => fromBinary(LiteralTypeSchema, type);

const created = ({ id, signalId, wanted }: CreateSignal): ExecutionDecision =>
  accepted({ type: 'SignalCreated', data: create(SignalCreatedSchema, { id, signalId, type: wanted }) });

const found = (signal: SignalState, { signalId, wanted }: CreateSignal): ExecutionDecision => {
  const type = typeOfSignal(signal);
  return equals(LiteralTypeSchema, type, wanted)
    ? accepted()
    : refused({ kind: 'signal-type-differs', signalId, type });
};

/**
 * Creates a signal. When it exists already, nothing is recorded: the command is accepted if it asks for the same type,
 * and refused if it asks for another. That holds also after the execution has ended, because the caller then only reads
 * the signal.
 */
export const decideCreateSignal = (state: ExecutionState, command: CreateSignal): ExecutionDecision => {
  if (!state.exists) return refused({ kind: 'execution-not-found' });
  const known = state.signals?.get(command.signalId);
  if (known !== undefined) return found(known, command);
  if (isTerminal('workflow', state.phase)) return refused({ kind: 'execution-ended', current: state.phase });
  const isFull = (state.signals?.size ?? 0) >= MAX_SIGNALS;
  return isFull ? refused({ kind: 'too-many-signals', limit: MAX_SIGNALS }) : created(command);
};

const set = ({ signalId, value, digest, principal }: SetSignal): ExecutionDecision => {
  const content = { content: { case: 'inline', value } } as const;
  return accepted({
    type: 'SignalSet',
    data: create(SignalSetSchema, { signalId, value: content, digest, principal }),
  });
};

/** Sets the value of a signal. A new value replaces an earlier one; the same value again records nothing. */
export const decideSetSignal = (state: ExecutionState, command: SetSignal): ExecutionDecision => {
  const { signalId, digest } = command;
  const known = state.signals?.get(signalId);
  if (known === undefined) return refused({ kind: 'signal-not-found', signalId });
  if (isTerminal('workflow', state.phase)) return refused({ kind: 'execution-ended', current: state.phase });
  const type = typeOfSignal(known);
  if (!command.isCastableTo(type)) return refused({ kind: 'signal-not-castable', signalId, type });
  return known.digest !== undefined && isSameDigest(known.digest, digest) ? accepted() : set(command);
};
