import { setMaxListeners } from 'node:events';

import type { DescMethod } from '@bufbuild/protobuf';

import { HANDSHAKE_MS, type Hosting, type Listening } from '../exchange.js';
import type { GrpcHandler } from './call.js';
import { acceptCalls, type Served } from './calls.js';
import { healthService } from './health.js';
import { reflection, REFLECTION_PATHS } from './reflection.js';
import { streamHandler } from './stream.js';
import { unaryHandler } from './unary.js';
import { isReady } from '../readiness.js';
import { OWN_PACKAGE, PACKAGES } from '../rpc-status.js';
import type { Endpoint } from '../routes.js';

const pathOf = (method: DescMethod, callersPackage: string): string =>
  `/${method.parent.typeName.replace(/^platformidl(?=\.)/, callersPackage)}/${method.name}`;

const servedBy = (
  hosting: Hosting,
  endpoints: readonly Endpoint[],
  shutdown: AbortSignal,
): ReadonlyMap<string, Served> => {
  const handlerOf = (endpoint: Endpoint): GrpcHandler =>
    endpoint.method.methodKind === 'unary'
      ? unaryHandler(endpoint, hosting)
      : streamHandler(endpoint, hosting, shutdown);
  const served = new Map<string, Served>();
  for (const endpoint of [...hosting.routes, ...endpoints]) {
    const handle = handlerOf(endpoint);
    for (const callersPackage of PACKAGES) {
      served.set(pathOf(endpoint.method, callersPackage), { handle, callersPackage });
    }
  }
  const reflecting = handlerOf(reflection());
  for (const path of REFLECTION_PATHS) served.set(path, { handle: reflecting, callersPackage: OWN_PACKAGE });
  return served;
};

/**
 * Serves every RPC of the interface over gRPC, under both package names by the same handlers, and the health check and
 * reflection: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * Malformed bytes become INVALID_ARGUMENT and not INTERNAL. Pings are answered however often they come, also on an idle
 * connection.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveGrpc = async (hosting: Hosting): Promise<Listening> => {
  const health = healthService(() => isReady(hosting.checks?.() ?? []));
  const shutdown = new AbortController();
  setMaxListeners(0, shutdown.signal);
  const served = servedBy(hosting, health.endpoints, shutdown.signal);
  const { handshakeMs = HANDSHAKE_MS } = hosting;
  const calls = await acceptCalls({ ...hosting, protocol: 'gRPC', handshakeMs }, (path) => served.get(path));
  return {
    port: calls.port,
    close: (options) => {
      health.shutDown();
      shutdown.abort();
      return calls.close(options);
    },
  };
};
