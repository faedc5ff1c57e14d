import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { type Signal, SignalSchema } from '../../proto/gen/platformidl/admin/signal_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { ExecutionEvent } from '../../services/execution/events.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { loadedMessage } from '../runtime/decoded.js';
import { documentKey } from '../query/document-key.js';
import type { ReadModel, SeenEvent } from '../runtime/read-model.js';
import { readModel } from '../runtime/typed-read-model.js';
import { signalCollection } from './columns.js';

/** A signal with its value, when it has one. Times are microseconds since 1970. */
export type SignalDocument = {
  readonly execution: StreamName;
  readonly signal: Signal;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Position of its creation. */
  readonly recorded: number;
};

type SignalCreated = Extract<ExecutionEvent, { readonly type: 'SignalCreated' }>;
type SignalSet = Extract<ExecutionEvent, { readonly type: 'SignalSet' }>;

const microsAt = ({ metadata }: SeenEvent): number => metadata.recordedAtMs * 1_000;

const created = (event: SeenEvent<SignalCreated>): SignalDocument => {
  const { id, signalId, type } = event.body.data;
  return {
    execution: event.stream,
    signal: create(SignalSchema, { id: { signalId, ...(id && { executionId: id }) }, ...(type && { type }) }),
    createdAt: microsAt(event),
    updatedAt: microsAt(event),
    recorded: Number(event.position),
  };
};

const valued = (document: SignalDocument, event: SeenEvent<SignalSet>): SignalDocument => {
  const { value } = event.body.data;
  const signal = { ...document.signal, ...(value && { value: loadedMessage(LiteralSchema, value) }) };
  return { ...document, signal, updatedAt: microsAt(event) };
};

const encode: ReadModel<SignalDocument>['encode'] = (_, { execution, signal, createdAt, updatedAt, recorded }) => {
  const { project = '', domain = '', name = '' } = signal.id?.executionId ?? {};
  const ofExecution = { execution, execution_project: project, execution_domain: domain, execution_name: name };
  const times = { created_at: createdAt, updated_at: updatedAt, recorded };
  return {
    fields: { ...ofExecution, signal_id: signal.id?.signalId ?? '', ...times },
    response: toBinary(SignalSchema, signal),
  };
};

const touches = ({ body, stream }: SeenEvent<SignalCreated | SignalSet>): readonly string[] => [
  documentKey(stream, body.data.signalId),
];

/** Signals, one document each, with a key under that of the execution. */
export const signals = readModel<SignalDocument, SignalCreated | SignalSet>({
  collection: signalCollection,
  handlers: {
    SignalCreated: { touches, fold: (_, event) => created(event) },
    SignalSet: { touches, fold: (document, event) => document && valued(document, event) },
  },
  encode,
  decode: ({ fields, response }) => ({
    execution: fields['execution'] as StreamName,
    signal: fromBinary(SignalSchema, response),
    createdAt: Number(fields['created_at']),
    updatedAt: Number(fields['updated_at']),
    recorded: Number(fields['recorded']),
  }),
});
