import type { FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { type Dialect, STRICT_JSON } from './dialects.js';
import { type Addressed, bodyOf } from './request.js';

/** A body above this is not read between other calls, in bytes. */
const LARGE_JSON = 256 * 1024;

/** A body that is the whole request, and is not looked at before its handler does. */
const wholeBody = (request: FastifyRequest, { match }: Addressed): Buffer | undefined =>
  match.binding.hasBody && match.values.length === 0 ? bodyOf(request) : undefined;

/**
 * The bytes of a request that is too large to be read here, where its RPC takes bytes; `undefined` for all others.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the place; RESOURCE_EXHAUSTED when too many wait.
 */
export const largeRequest = async (
  request: FastifyRequest,
  addressed: Addressed,
  { dialect, hosting }: { readonly dialect: Dialect; readonly hosting: Hosting },
): Promise<Uint8Array | undefined> => {
  const { route, name } = addressed.match.binding.endpoint;
  const body = wholeBody(request, addressed);
  if (!route || !body || (!route.large && route.takes === 'message')) return undefined;
  if (!dialect.isText) return route.large && body.length > route.large.aboveBytes ? body : undefined;
  if (!hosting.readJson || body.length <= LARGE_JSON) return undefined;
  return hosting.readJson({ rpc: name, body, isStrict: dialect === STRICT_JSON });
};
