import type { Interceptor } from './dispatch.js';

/**
 * Receives and decodes the request of a unary call.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field when it is no message of the RPC's; RESOURCE_EXHAUSTED when it is
 * too large or there is no memory for it.
 */
export const receive: Interceptor = async (call, next) => {
  call.request = await call.receive();
  return next();
};
