import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';

import type { DescMethod } from '@bufbuild/protobuf';

import { RpcError } from '../../kernel/rpc.js';
import { HANDSHAKE_MS, type Hosting, type Listening } from '../exchange.js';
import { refuse, refuseStream } from './answer.js';
import { deadlineOf, encodingOf, type GrpcHandler, headerOf } from './call.js';
import { acceptConnections, type Connections } from './connections.js';
import { encodings } from './encoding.js';
import { healthService } from './health.js';
import { reflection, REFLECTION_PATHS } from './reflection.js';
import { http2Sessions, type OnStream, type Sessions } from './sessions.js';
import { streamHandler } from './stream.js';
import { unaryHandler } from './unary.js';
import { isReady } from '../readiness.js';
import { OWN_PACKAGE, PACKAGES } from '../rpc-status.js';
import type { Endpoint } from '../routes.js';
import { failureOf } from '../status.js';

/** The handler of a path, and the package name in the path. */
type Served = { readonly handle: GrpcHandler; readonly callersPackage: string };

const pathOf = (method: DescMethod, callersPackage: string): string =>
  `/${method.parent.typeName.replace(/^platformidl(?=\.)/, callersPackage)}/${method.name}`;

const servedBy = (hosting: Hosting, own: readonly Endpoint[], leaving: AbortSignal): ReadonlyMap<string, Served> => {
  const handlerOf = (endpoint: Endpoint): GrpcHandler =>
    endpoint.method.methodKind === 'unary'
      ? unaryHandler(endpoint, hosting)
      : streamHandler(endpoint, hosting, leaving);
  const served = new Map<string, Served>();
  for (const endpoint of [...hosting.routes, ...own]) {
    const handle = handlerOf(endpoint);
    for (const callersPackage of PACKAGES) {
      served.set(pathOf(endpoint.method, callersPackage), { handle, callersPackage });
    }
  }
  const reflecting = handlerOf(reflection());
  for (const path of REFLECTION_PATHS) served.set(path, { handle: reflecting, callersPackage: OWN_PACKAGE });
  return served;
};

const GRPC = /^application\/grpc(?:$|[+;])/;

/** The HTTP status for a request that is not a gRPC call; `undefined` when it is one. */
const notGrpc = (headers: IncomingHttpHeaders): number | undefined => {
  if (headers[':method'] !== 'POST') return 405;
  return GRPC.test(headers['content-type'] ?? '') ? undefined : 415;
};

const open =
  (served: ReadonlyMap<string, Served>): OnStream =>
  (stream, headers, socket) => {
    stream.on('error', () => undefined); // an error closes the stream, and 'close' is handled
    const httpStatus = notGrpc(headers);
    if (httpStatus !== undefined) {
      refuseStream(stream, httpStatus);
      return;
    }
    const path = headers[':path'] ?? '';
    const { handle, callersPackage = OWN_PACKAGE } = served.get(path) ?? {};
    try {
      if (!handle) throw new RpcError('UNIMPLEMENTED', `there is no RPC ${path}`);
      const header = (name: string): string | undefined => headerOf(headers, name);
      handle({
        stream,
        socket,
        callersPackage,
        header,
        encoding: encodingOf(headers),
        deadline: deadlineOf(headers),
      });
    } catch (thrown) {
      const accepted = { 'grpc-accept-encoding': encodings.join(',') };
      refuse({ stream, callersPackage }, failureOf(thrown), accepted);
    }
  };

const shutDown = async (sessions: Sessions, connections: Connections, drainMs: number): Promise<void> => {
  const timer = setTimeout(connections.cut, drainMs);
  const closed = connections.close();
  sessions.leave();
  if (drainMs <= 0) connections.cut();
  await closed;
  clearTimeout(timer);
};

/**
 * Serves every RPC of the interface over gRPC, under both package names by the same handlers, and the health check and
 * reflection: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * Requests reach the handlers undecoded, so that malformed bytes become INVALID_ARGUMENT and not INTERNAL. Pings on an
 * idle connection are answered at any rate.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveGrpc = async (hosting: Hosting): Promise<Listening> => {
  const health = healthService(() => isReady(hosting.checks?.() ?? []));
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const sessions = http2Sessions(open(servedBy(hosting, health.endpoints, leaving.signal)));
  const { maxConnections, handshakeMs = HANDSHAKE_MS, tls } = hosting;
  const connections = await acceptConnections(
    hosting,
    { connections: maxConnections, handshakeMs, tls },
    sessions.serve,
  );
  return {
    port: connections.port,
    close: ({ drainMs }) => {
      health.leave();
      leaving.abort();
      return shutDown(sessions, connections, drainMs);
    },
  };
};
