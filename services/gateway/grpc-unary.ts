import type { Socket } from 'node:net';

import { type handleUnaryCall, Metadata, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';

import { RpcError, type StatusCode } from '../kernel/rpc.js';
import type { CallRoom } from './room.js';
import { noteOf, type OpenCall, openCall, requestIdOf } from './call.js';
import { COMPOSING, encodeAnswer, type Hosting, run, UNCOUNTED_BYTES } from './exchange.js';
import { grpcError } from './grpc-trailer.js';
import { logFailure } from './log.js';
import { type Endpoint, unimplemented } from './routes.js';
import { failureOf } from './status.js';

/** Finds the connection that a call came by. */
export type Peers = { readonly of: (peer: string) => Socket | undefined };

/** What the handlers of gRPC stand on. */
export type GrpcHosting = Hosting & { readonly peers: Peers };

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const header = (metadata: Metadata, name: string): string | undefined => metadata.get(name)[0]?.toString();

const trailerOf = (call: OpenCall | undefined, { positions }: Hosting): Metadata | undefined => {
  const notes = call === undefined ? [] : noteOf(call, positions);
  if (notes.length === 0) return undefined;
  const trailer = new Metadata();
  for (const [name, value] of notes) trailer.set(name, value);
  return trailer;
};

type Unary = ServerUnaryCall<Buffer, Buffer>;

/** The account of a call in the room for answers; made when it is needed, because most answers are small. */
const roomFor = (grpcCall: Unary, { answers, peers }: GrpcHosting): (() => CallRoom) => {
  let room: CallRoom | undefined;
  return () => {
    if (room) return room;
    const socket = peers.of(grpcCall.getPeer());
    if (!socket || grpcCall.cancelled) throw new RpcError('CANCELLED', 'the caller has gone');
    room = answers.open(socket);
    grpcCall.once('cancelled', room.leave); // the library says so at the end of every call, however it ends
    return room;
  };
};

/** Answers one unary RPC to callers that know it under one package name. */
export const unaryHandler = (
  endpoint: Endpoint,
  callersPackage: string,
  hosting: GrpcHosting,
): handleUnaryCall<Buffer, Buffer> => {
  const { route, method, name } = endpoint;
  const { positions, logger, onAnswered } = hosting;

  const answer = async (grpcCall: Unary, respond: sendUnaryData<Buffer>): Promise<StatusCode | 'OK'> => {
    const { metadata } = grpcCall;
    const requestId = requestIdOf(header(metadata, 'x-request-id'));
    const room = roomFor(grpcCall, hosting);
    let call: OpenCall | undefined;
    try {
      const arrival = {
        header: (key: string) => header(metadata, key),
        isCancelled: () => grpcCall.cancelled,
        makeRoom: async (bytes: number) => room().make(bytes * COMPOSING.bytes),
      };
      call = openCall(arrival, requestId, positions);
      if (!route) throw unimplemented(endpoint);
      const answered = asBuffer(encodeAnswer(method.output, await run(route, grpcCall.request, call)));
      if (answered.length > UNCOUNTED_BYTES) room().fill(answered.length);
      respond(null, answered, trailerOf(call, hosting));
      return 'OK';
    } catch (thrown) {
      logFailure(logger, thrown, { requestId, rpc: name });
      const failure = failureOf(thrown);
      respond(grpcError(failure, callersPackage, trailerOf(call, hosting)));
      return failure.code;
    }
  };

  if (!onAnswered) return (call, respond) => void answer(call, respond);
  return (call, respond) => {
    const startedAt = performance.now();
    void answer(call, respond).then((code) => onAnswered(endpoint, code, performance.now() - startedAt));
  };
};
