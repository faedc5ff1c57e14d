import type { DispatchedCall, ReceivedCall } from './call.js';
import type { Interceptor } from './dispatch.js';

const note = (call: DispatchedCall, { request, bytes }: ReceivedCall): void => {
  call.request = request;
  call.requestBytes = bytes;
};

/**
 * Receives and decodes the request of a call that has only one. Those of a stream of requests are received while its
 * handler runs.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field when the bytes do not decode as the request type of the RPC;
 * RESOURCE_EXHAUSTED when the request is too large or the memory budget is full.
 */
export const receive: Interceptor = (call, next) => {
  const received = call.receive();
  if (received instanceof Promise)
    return received.then((later) => {
      note(call, later);
      return next();
    });
  note(call, received);
  return next();
};
