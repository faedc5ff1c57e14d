import type { Interceptor } from './dispatch.js';

/**
 * Receives and decodes the request of a unary call.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field when the bytes do not decode as the request type of the RPC;
 * RESOURCE_EXHAUSTED when the request is too large or the memory budget is full.
 */
export const receive: Interceptor = async (call, next) => {
  const { request, bytes } = await call.receive();
  call.request = request;
  call.requestBytes = bytes;
  return next();
};
