import { once } from 'node:events';

import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  ServerDuplexStream,
  ServerWritableStream,
} from '@grpc/grpc-js';

import type { StatusCode } from '../kernel/rpc.js';
import { openCall, requestIdOf } from './call.js';
import { assertDecodable } from './decode.js';
import type { Hosting } from './exchange.js';
import { grpcError } from './grpc-trailer.js';
import { logFailure } from './log.js';
import { type Endpoint, unimplemented } from './routes.js';
import { failureOf } from './status.js';

type Stream = ServerDuplexStream<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;
type StreamHandler = handleServerStreamingCall<Buffer, Buffer> & handleBidiStreamingCall<Buffer, Buffer>;

const isDuplex = (stream: Stream): stream is ServerDuplexStream<Buffer, Buffer> => 'read' in stream;

/** The requests as they come, each known to be a message: one, or as many as the caller sends. */
const requestsOf = async function* ({ method }: Endpoint, stream: Stream): AsyncIterable<Uint8Array> {
  // Without this option the end of the requests would end the answers too.
  const requests = isDuplex(stream) ? stream.iterator({ destroyOnReturn: false }) : [stream.request];
  for await (const request of requests as AsyncIterable<Buffer> | readonly Buffer[]) {
    assertDecodable(method.input, request);
    yield request;
  }
};

/** Writes no faster than the caller reads. */
const write = async (stream: Stream, answer: Uint8Array, signal: AbortSignal): Promise<void> => {
  if (!stream.write(Buffer.from(answer))) await once(stream, 'drain', { signal });
};

/** Answers one RPC that is a stream to callers that know it under one package name. */
export const streamHandler = (endpoint: Endpoint, callersPackage: string, hosting: Hosting): StreamHandler => {
  const { logger, positions, onAnswered } = hosting;

  const answer = async (stream: Stream): Promise<StatusCode | 'OK'> => {
    const header = (name: string): string | undefined => stream.metadata.get(name)[0]?.toString();
    const requestId = requestIdOf(header('x-request-id'));
    const gone = new AbortController();
    stream.once('cancelled', () => gone.abort());
    try {
      if (!endpoint.stream) throw unimplemented(endpoint);
      const arrival = { header, isCancelled: () => stream.cancelled, makeRoom: () => Promise.resolve() };
      const call = openCall(arrival, requestId, positions);
      const answers = endpoint.stream.open(requestsOf(endpoint, stream), call, gone.signal);
      for await (const each of answers) await write(stream, each, gone.signal);
      stream.end();
      return 'OK';
    } catch (thrown) {
      if (stream.cancelled) return 'CANCELLED';
      logFailure(logger, thrown, { requestId, rpc: endpoint.name });
      const failure = failureOf(thrown);
      stream.emit('error', grpcError(failure, callersPackage));
      return failure.code;
    }
  };

  return (stream: Stream) => {
    const startedAt = performance.now();
    void answer(stream).then((code) => onAnswered?.(endpoint, code, performance.now() - startedAt));
  };
};
