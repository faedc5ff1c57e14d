import { type DescMethod, toBinary } from '@bufbuild/protobuf';

import { contentHashOf, MAX_KEY } from '../../kernel/idempotency.js';
import { invalid } from '../../kernel/rpc.js';
import { decode } from '../decode.js';
import type { ReceivedRequest } from './target.js';
import type { Interceptor } from './dispatch.js';

/**
 * Computes {@link contentHashOf} of an encoded request on another thread.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes do not decode as the request type of the RPC; RESOURCE_EXHAUSTED
 * when too many requests are queued.
 */
export type HashLarge = (method: DescMethod, request: Uint8Array) => Promise<string>;

/** Requests larger than this, in bytes, are hashed on another thread, because hashing would delay other calls. */
const LARGE_CONTENT = 32 * 1024;

const assertKey = (key: string): void => {
  if (key === '' || key.length > MAX_KEY)
    throw invalid('idempotency-key', `not ${key.length}, but 1 to ${MAX_KEY} characters`);
};

const hashOf = async (
  method: DescMethod,
  request: ReceivedRequest,
  hashLarge: HashLarge | undefined,
): Promise<string> => {
  const { input } = method;
  if (hashLarge) {
    const bytes = request instanceof Uint8Array ? request : toBinary(input, request);
    if (bytes.length > LARGE_CONTENT) return hashLarge(method, bytes);
  }
  return contentHashOf(input, request instanceof Uint8Array ? decode(input, request) : request);
};

/**
 * Binds the caller's idempotency key to the RPC and the content of the request. The command carries the binding, and
 * the stream records it.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the key is empty or too long, or the bytes of the request do not decode; the
 * errors of {@link HashLarge}.
 */
export const idempotency =
  (hashLarge: HashLarge | undefined): Interceptor =>
  (call, next) => {
    const { idempotencyKey: key, request, endpoint } = call;
    if (key === undefined || request === undefined) return next();
    assertKey(key);
    const { method } = endpoint;
    return hashOf(method, request, hashLarge).then((content) => {
      call.idempotency = { key, operation: method.name, content };
      return next();
    });
  };
