import {
  type handleUnaryCall,
  Metadata,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

import type { StatusCode } from '../kernel/rpc.js';
import { type OpenCall, openCall, requestIdOf } from './call.js';
import { encodeAnswer, type Hosting, run } from './exchange.js';
import { logFailure } from './log.js';
import { type Endpoint, unimplemented } from './routes.js';
import { rpcStatusBytes } from './rpc-status.js';
import { cutText, type Failure, failureOf } from './status.js';

// What a trailer may take in all: clients in the field accept 32 kB of metadata. With details, the text is in it
// twice: percent-encoded, and inside the details in base64.
const MAX_TRAILER_BYTES = 30_000;

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const header = (metadata: Metadata, name: string): string | undefined => metadata.get(name)[0]?.toString();

const fitTrailer = (failure: Failure, callersPackage: string): { message: string; details: Uint8Array | undefined } => {
  for (let { message } = failure; ; message = cutText(message, Math.floor(Buffer.byteLength(message) / 2))) {
    const details = failure.details.length > 0 ? rpcStatusBytes({ ...failure, message }, callersPackage) : undefined;
    const size = encodeURI(message).length + ((details?.length ?? 0) * 4) / 3;
    if (size <= MAX_TRAILER_BYTES || message === '') return { message, details };
  }
};

/** A failure as the library sends it: status, text, and the details in the trailer. */
export const grpcError = (failure: Failure, callersPackage: string, trailer = new Metadata()): ServiceError => {
  const { message, details } = fitTrailer(failure, callersPackage);
  if (details) trailer.set('grpc-status-details-bin', asBuffer(details));
  return { name: failure.code, message, code: status[failure.code], details: message, metadata: trailer };
};

const trailerOf = (call: OpenCall | undefined, { positions }: Hosting): Metadata | undefined => {
  if (call?.position === undefined) return undefined;
  const trailer = new Metadata();
  trailer.set('flightlog-position', positions.format(call.position));
  return trailer;
};

type Unary = ServerUnaryCall<Buffer, Buffer>;

/** Answers one unary RPC to callers that know it under one package name. */
export const unaryHandler = (
  endpoint: Endpoint,
  callersPackage: string,
  hosting: Hosting,
): handleUnaryCall<Buffer, Buffer> => {
  const { route, method, name } = endpoint;
  const { positions, logger, onAnswered } = hosting;

  const answer = async (grpcCall: Unary, respond: sendUnaryData<Buffer>): Promise<StatusCode | 'OK'> => {
    const { metadata } = grpcCall;
    const requestId = requestIdOf(header(metadata, 'x-request-id'));
    let call: OpenCall | undefined;
    try {
      const arrival = { header: (key: string) => header(metadata, key), isCancelled: () => grpcCall.cancelled };
      call = openCall(arrival, requestId, positions);
      if (!route) throw unimplemented(endpoint);
      const answered = await run(route, grpcCall.request, call);
      respond(null, asBuffer(encodeAnswer(method.output, answered)), trailerOf(call, hosting));
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
