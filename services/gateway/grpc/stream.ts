import { once } from 'node:events';

import type { StatusCode } from '../../kernel/rpc.js';
import { openCall, requestIdOf } from '../call.js';
import { assertDecodable } from '../decode.js';
import type { Hosting } from '../exchange.js';
import { beginAnswer, DEADLINE_PASSED, endAnswer, frameOf, incoming, refuse } from './answer.js';
import { atDeadline, type GrpcCall, type GrpcHandler } from './call.js';
import { messagesOf, onlyMessage } from './messages.js';
import { logFailure } from '../log.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { failureOf } from '../status.js';

/** The requests as they come, each known to be a message: one, or as many as the caller sends. */
const requestsOf = async function* ({ method }: Endpoint, call: GrpcCall, hosting: Hosting): AsyncIterable<Uint8Array> {
  const isOne = method.methodKind === 'server_streaming';
  const arriving = incoming(call, hosting, isOne);
  for await (const request of isOne ? [onlyMessage(arriving)] : messagesOf(arriving)) {
    assertDecodable(method.input, request);
    yield request;
  }
};

/** Writes no faster than the caller reads. */
const write = async (call: GrpcCall, answer: Uint8Array, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  beginAnswer(call);
  if (!call.stream.write(frameOf(answer))) await once(call.stream, 'drain', { signal });
};

/** Answers one RPC that is a stream. */
export const streamHandler = (endpoint: Endpoint, hosting: Hosting): GrpcHandler => {
  const { logger, onAnswered } = hosting;

  const answer = async (grpcCall: GrpcCall, gone: AbortSignal): Promise<StatusCode | 'OK'> => {
    const { header } = grpcCall;
    const requestId = requestIdOf(header('x-request-id'));
    try {
      if (!endpoint.stream) throw unimplemented(endpoint);
      const arrival = { header, isCancelled: () => gone.aborted, makeRoom: () => Promise.resolve() };
      const call = openCall(arrival, requestId, hosting);
      const answers = endpoint.stream.open(requestsOf(endpoint, grpcCall, hosting), call, gone);
      for await (const each of answers) await write(grpcCall, each, gone);
      endAnswer(grpcCall, { 'grpc-status': '0' });
      return 'OK';
    } catch (thrown) {
      if (gone.aborted) return 'CANCELLED';
      logFailure(logger, thrown, { requestId, rpc: endpoint.name });
      const failure = failureOf(thrown, endpoint.method);
      refuse(grpcCall, failure);
      return failure.code;
    }
  };

  return (grpcCall) => {
    const startedAt = performance.now();
    const gone = new AbortController();
    grpcCall.stream.once('close', () => gone.abort());
    atDeadline(grpcCall, () => {
      gone.abort();
      refuse(grpcCall, DEADLINE_PASSED);
    });
    void answer(grpcCall, gone.signal).then((code) => onAnswered?.(endpoint, code, performance.now() - startedAt));
  };
};
