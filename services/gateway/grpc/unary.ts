import { frameOf } from '../../kernel/encoding/grpc-frame.js';
import { clientCertificateOn } from '../client-certificate.js';
import { type DispatchedCall, noteOf, openCall, type ReceivedCall } from '../dispatch/call.js';
import { answerUnary, COMPOSING_FACTORS, decodeRequest, encodeAnswer, type Hosting } from '../exchange.js';
import { answerOnce, incoming, refuse } from './answer.js';
import { type GrpcCall, type GrpcHandler, isGone } from './call.js';
import { onlyMessage } from './messages.js';
import type { Trailer } from './trailer.js';
import { lazyReservation } from '../memory-budget.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { rpcFailureOf } from '../status.js';

const notesOf = (call: DispatchedCall, { positions }: Hosting): Trailer => Object.fromEntries(noteOf(call, positions));

const receive = async (endpoint: Endpoint, grpcCall: GrpcCall, hosting: Hosting): Promise<ReceivedCall> => {
  const bytes = await onlyMessage(incoming(grpcCall, hosting, true));
  if (!endpoint.route) throw unimplemented(endpoint);
  return { request: decodeRequest(endpoint.route, bytes), bytes: bytes.length };
};

const open = (endpoint: Endpoint, grpcCall: GrpcCall, hosting: Hosting): DispatchedCall => {
  const { stream, socket } = grpcCall;
  const isOver = (): boolean => isGone(grpcCall);
  const reservation = lazyReservation(hosting.answers, { socket, stream, isGone: isOver });
  return openCall({
    endpoint,
    transport: 'grpc',
    callersPackage: grpcCall.callersPackage,
    startedAt: performance.now(),
    deadline: grpcCall.deadline,
    header: grpcCall.header,
    peer: () => socket.remoteAddress ?? '',
    certificate: () => clientCertificateOn(socket),
    isCancelled: isOver,
    onEnd: (listener) => {
      if (isOver()) listener();
      else stream.once('close', listener);
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
