import { frameOf } from '../../kernel/encoding/grpc-frame.js';
import { RpcError } from '../../kernel/rpc.js';
import { clientCertificateOn } from '../client-certificate.js';
import { type DispatchedCall, noteOf, openCall, type ReceivedCall } from '../dispatch/call.js';
import { answerUnary, COMPOSING_FACTORS, decodeRequest, encodeAnswer, type Hosting } from '../exchange.js';
import { answerOnce, incoming, refuse } from './answer.js';
import { type GrpcCall, type GrpcHandler, isGone } from './call.js';
import { onlyMessage } from './messages.js';
import type { Trailer } from './trailer.js';
import type { MemoryReservation, MemoryBudget } from '../memory-budget.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { rpcFailureOf } from '../status.js';

const notesOf = (call: DispatchedCall, { positions }: Hosting): Trailer => Object.fromEntries(noteOf(call, positions));

/** Opens the account of a call in the budget for answers at first use; most answers are too small to need one. */
const lazyReservation = (call: GrpcCall, answers: MemoryBudget): (() => MemoryReservation) => {
  let reservation: MemoryReservation | undefined;
  return () => {
    if (reservation) return reservation;
    if (isGone(call)) throw new RpcError('CANCELLED', 'the caller has gone');
    reservation = answers.open(call.socket);
    call.stream.once('close', reservation.release);
    return reservation;
  };
};

const receive = async (endpoint: Endpoint, grpcCall: GrpcCall, hosting: Hosting): Promise<ReceivedCall> => {
  const bytes = await onlyMessage(incoming(grpcCall, hosting, true));
  if (!endpoint.route) throw unimplemented(endpoint);
  return { request: decodeRequest(endpoint.route, bytes), bytes: bytes.length };
};

const open = (endpoint: Endpoint, grpcCall: GrpcCall, hosting: Hosting): DispatchedCall => {
  const reservation = lazyReservation(grpcCall, hosting.answers);
  return openCall({
    endpoint,
    transport: 'grpc',
    callersPackage: grpcCall.callersPackage,
    startedAt: performance.now(),
    deadline: grpcCall.deadline,
    header: grpcCall.header,
    peer: () => grpcCall.socket.remoteAddress ?? '',
    certificate: () => clientCertificateOn(grpcCall.socket),
    isCancelled: () => isGone(grpcCall),
    onEnd: (listener) => {
      if (isGone(grpcCall)) listener();
      else grpcCall.stream.once('close', listener);
    },
    receive: () => receive(endpoint, grpcCall, hosting),
    reserveMemory: (bytes) => reservation().reserve(bytes * COMPOSING_FACTORS.bytes),
    reserveAnswer: (bytes) => reservation().resizeToAnswer(bytes),
    answerItem: hosting.answerItem,
  });
};

const framedAnswer = async (call: DispatchedCall): Promise<Buffer> =>
  frameOf(encodeAnswer(call.endpoint.method.output, await answerUnary(call)));

/** Makes the handler of a unary RPC. */
export const unaryHandler = (endpoint: Endpoint, hosting: Hosting): GrpcHandler => {
  const answer = async (grpcCall: GrpcCall): Promise<void> => {
    const call = open(endpoint, grpcCall, hosting);
    try {
      const framed = await hosting.dispatch(call, framedAnswer);
      answerOnce(grpcCall, framed, { 'grpc-status': '0', ...notesOf(call, hosting) });
    } catch (thrown) {
      refuse(grpcCall, rpcFailureOf(thrown, endpoint.method), notesOf(call, hosting));
    }
  };
  return (grpcCall) => void answer(grpcCall);
};
