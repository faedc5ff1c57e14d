import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type Signal,
  type SignalGetOrCreateRequest,
  SignalSchema,
  type SignalSetRequest,
  SignalSetResponseSchema,
} from '../../../proto/gen/platformidl/admin/signal_pb.js';
import type { SignalIdentifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type Literal, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { isCastable } from '../../compiler/types/castability.js';
import { literalProblem } from '../../compiler/types/literal-map.js';
import { typeOfLiteral } from '../../compiler/types/literal-type.js';
import { hasManyParts } from '../../compiler/types/types.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import { digestOf } from '../../kernel/encoding/digest.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { bytesOf, MAX_INLINE_BYTES, type PayloadStore } from '../../kernel/ports/payload-store.js';
import { type Call, invalid, missing, type Route, route, RpcError } from '../../kernel/rpc.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate } from '../aggregate.js';
import type { SetSignal } from '../commands.js';
import { typeOfSignal } from '../decide/signal.js';
import { executionCodec } from '../events.js';
import { executionIdOf } from '../execution-id.js';
import { recordCommand } from './change.js';
import { executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type SignalServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
  readonly payloads: PayloadStore;
  /** The largest value of a signal, in bytes: the same as the limit of outputs. */
  readonly maxOutputBytes: number;
};

type SignalId = { readonly id: ExecutionId; readonly signalId: string };

const MAX_ID_BYTES = 1_024;

const signalIdOf = (sent: SignalIdentifier | undefined): SignalId => {
  if (sent === undefined) throw missing('id');
  const { executionId, signalId } = sent;
  if (executionId === undefined) throw missing('execution_id');
  if (signalId === '') throw missing('signal_id');
  const id = executionIdOf(executionId);
  if (Buffer.byteLength(signalId) > MAX_ID_BYTES) throw invalid('signal_id', `longer than ${MAX_ID_BYTES} bytes`);
  return { id, signalId };
};

const typeOf = (type: LiteralType | undefined): LiteralType => {
  if (type?.type.case === undefined) throw missing('type');
  if (hasManyParts(type)) throw invalid('type', 'it has too many parts');
  if (toBinary(LiteralTypeSchema, type).length > MAX_INLINE_BYTES)
    throw invalid('type', `it has more than ${MAX_INLINE_BYTES} bytes`);
  return type;
};

/** Reads the value that was set at a revision of the stream. */
const valueAt = async (
  { log, payloads }: SignalServices,
  id: ExecutionId,
  revision: number,
): Promise<Literal | undefined> => {
  for await (const [first] of log.readStream(executionStream(id), { from: BigInt(revision), limit: 1 })) {
    const event = first && decodeEvent(executionCodec, first);
    if (event?.type === 'SignalSet' && event.data.value)
      return fromBinary(LiteralSchema, await bytesOf(event.data.value, payloads));
  }
  return undefined;
};

const found = async (services: SignalServices, { id, signalId }: SignalId, wanted: LiteralType): Promise<Signal> => {
  const signal = await services.sessions.read(services.aggregate, executionStream(id), ({ state }) =>
    state.signals?.get(signalId),
  );
  const value = signal?.setAt === undefined ? undefined : await valueAt(services, id, signal.setAt);
  return create(SignalSchema, {
    id: { signalId, executionId: id },
    type: signal ? typeOfSignal(signal) : wanted,
    ...(value && { value }),
  });
};

const getOrCreate = async (
  services: SignalServices,
  request: SignalGetOrCreateRequest,
  call: Call,
): Promise<Signal> => {
  const signal = signalIdOf(request.id);
  const wanted = typeOf(request.type);
  await recordCommand(services, { type: 'CreateSignal', ...signal, wanted }, call);
  return found(services, signal, wanted);
};

const encoded = (value: Literal | undefined, maxBytes: number): { literal: Literal; bytes: Uint8Array } => {
  if (value === undefined) throw missing('value');
  const problem = literalProblem('value', value);
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', problem);
  const bytes = toBinary(LiteralSchema, value);
  if (bytes.length <= maxBytes) return { literal: value, bytes };
  const text = `Signal value size exceeds platform configured threshold (${bytes.length} > ${maxBytes})`;
  throw new RpcError('RESOURCE_EXHAUSTED', text);
};

const set = async (services: SignalServices, request: SignalSetRequest, call: Call): Promise<void> => {
  const signal = signalIdOf(request.id);
  const { literal, bytes } = encoded(request.value, services.maxOutputBytes);
  const type = typeOfLiteral(literal);
  const command: SetSignal = {
    type: 'SetSignal',
    ...signal,
    value: bytes,
    digest: digestOf(LiteralSchema, literal),
    isCastableTo: (wanted) => type !== undefined && isCastable(type, wanted),
    principal: call.principal,
  };
  await recordCommand(services, command, call);
};

export const signalRoutes = (services: SignalServices): readonly Route[] => [
  route(SignalService.method.getOrCreateSignal, (request, call) => getOrCreate(services, request, call)),
  route(SignalService.method.setSignal, async (request, call) => {
    await set(services, request, call);
    return create(SignalSetResponseSchema);
  }),
];
