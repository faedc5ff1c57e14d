import type { FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { type Dialect, STRICT_JSON } from './dialects.js';
import { type Addressed, bodyOf } from './request.js';

/** JSON bodies larger than this, in bytes, are parsed on another thread, because parsing would delay other calls. */
const LARGE_JSON = 256 * 1024;

/** Returns the body when it is the whole request, so that no field comes from the path; otherwise `undefined`. */
const wholeBody = (request: FastifyRequest, { match }: Addressed): Buffer | undefined =>
  match.binding.hasBody && match.values.length === 0 ? bodyOf(request) : undefined;

/**
 * Gets the encoded message of a request that is too large to parse on the serving thread, where its RPC takes bytes.
 *
 * @returns `undefined` for all other requests.
 * @throws {RpcError} INVALID_ARGUMENT naming the field or position; RESOURCE_EXHAUSTED when too many requests are queued.
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
