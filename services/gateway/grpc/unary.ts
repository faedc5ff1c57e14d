import { RpcError, type StatusCode } from '../../kernel/rpc.js';
import { noteOf, type OpenCall, openCall, requestIdOf } from '../call.js';
import { COMPOSING, encodeAnswer, type Hosting, run, UNCOUNTED_BYTES } from '../exchange.js';
import { answerOnce, DEADLINE_PASSED, frameOf, incoming, refuse } from './answer.js';
import { atDeadline, type GrpcCall, type GrpcHandler, isGone } from './call.js';
import { onlyMessage } from './messages.js';
import type { Trailer } from './trailer.js';
import { logFailure } from '../log.js';
import type { CallRoom, Room } from '../room.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { failureOf } from '../status.js';

const notesOf = (call: OpenCall | undefined, { positions }: Hosting): Trailer =>
  call === undefined ? {} : Object.fromEntries(noteOf(call, positions));

/** The account of a call in the room for answers; made when it is needed, because most answers are small. */
const roomFor = (call: GrpcCall, answers: Room): (() => CallRoom) => {
  let room: CallRoom | undefined;
  return () => {
    if (room) return room;
    if (isGone(call)) throw new RpcError('CANCELLED', 'the caller has gone');
    room = answers.open(call.socket);
    call.stream.once('close', room.leave);
    return room;
  };
};

/** Answers one unary RPC. */
export const unaryHandler = (endpoint: Endpoint, hosting: Hosting): GrpcHandler => {
  const { route, method, name } = endpoint;
  const { logger, onAnswered } = hosting;

  const answer = async (grpcCall: GrpcCall): Promise<StatusCode | 'OK'> => {
    const requestId = requestIdOf(grpcCall.header('x-request-id'));
    const room = roomFor(grpcCall, hosting.answers);
    let call: OpenCall | undefined;
    try {
      const request = await onlyMessage(incoming(grpcCall, hosting, true));
      const arrival = {
        header: grpcCall.header,
        isCancelled: () => isGone(grpcCall),
        whenOver: (hear: () => void) => {
          if (isGone(grpcCall)) hear();
          else grpcCall.stream.once('close', hear);
        },
        makeRoom: async (bytes: number) => room().make(bytes * COMPOSING.bytes),
      };
      call = openCall(arrival, requestId, hosting);
      if (!route) throw unimplemented(endpoint);
      const framed = frameOf(encodeAnswer(method.output, await run(route, request, call)));
      if (framed.length > UNCOUNTED_BYTES) room().fill(framed.length);
      answerOnce(grpcCall, framed, { 'grpc-status': '0', ...notesOf(call, hosting) });
      return 'OK';
    } catch (thrown) {
      logFailure(logger, thrown, { requestId, rpc: name });
      const failure = failureOf(thrown, method);
      refuse(grpcCall, failure, notesOf(call, hosting));
      return failure.code;
    }
  };

  return (grpcCall) => {
    const startedAt = performance.now();
    atDeadline(grpcCall, () => refuse(grpcCall, DEADLINE_PASSED));
    void answer(grpcCall).then((code) => onAnswered?.(endpoint, code, performance.now() - startedAt));
  };
};
