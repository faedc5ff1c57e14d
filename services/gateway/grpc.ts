import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServerInterceptor,
  type ServerInterceptingCallInterface,
  setLogVerbosity,
  status,
} from '@grpc/grpc-js';
import type { DescMethod } from '@bufbuild/protobuf';

import { Health } from '../../proto/gen/grpc/health/v1/health_pb.js';
import { HANDSHAKE_MS, type Hosting, type Listening } from './exchange.js';
import { acceptConnections, type Connections } from './grpc-connections.js';
import { healthService } from './grpc-health.js';
import { REFLECTION_PATHS, reflectionHandler } from './grpc-reflection.js';
import { boundRequests, type LibraryCall, type RequestLimits } from './grpc-requests.js';
import { streamHandler } from './grpc-stream.js';
import { type GrpcHosting, type Peers, unaryHandler } from './grpc-unary.js';
import { OWN_PACKAGE, PACKAGES } from './rpc-status.js';

const raw = (bytes: Buffer): Buffer => bytes;

const TYPES: Readonly<Record<DescMethod['methodKind'], string>> = {
  unary: 'unary',
  server_streaming: 'serverStream',
  client_streaming: 'clientStream',
  bidi_streaming: 'bidi',
};

const pathOf = (method: DescMethod, callersPackage: string): string =>
  `/${method.parent.typeName.replace(/^platformidl(?=\.)/, callersPackage)}/${method.name}`;

/** What the library says of a request that never became a message, by its first words, and what the caller is told. */
const reworded: readonly (readonly [RegExp, status, string])[] = [
  [
    /^Received message that decompresses to a size larger than (\d+)/,
    status.RESOURCE_EXHAUSTED,
    'message larger than max ($1)',
  ],
  [/^Failed to decompress message/, status.INVALID_ARGUMENT, 'cannot decompress the message'],
  [/^Received no request message/, status.INVALID_ARGUMENT, 'no whole message in the request'],
  [/^Received a second request message/, status.INVALID_ARGUMENT, 'more than one message in the request'],
  [/^Invalid grpc-timeout/, status.INVALID_ARGUMENT, 'invalid value for grpc-timeout'],
];

const rewordedBy = (details: string): { code: status; details: string } | undefined => {
  for (const [pattern, code, text] of reworded) {
    const match = pattern.exec(details);
    if (match) return { code, details: text.replace('$1', match[1] ?? '') };
  }
  return undefined;
};

type Intercepted = ServerInterceptingCallInterface & LibraryCall;
type Method = { readonly requestStream: boolean };

/**
 * Gives the library's own refusals the status that they deserve: INTERNAL is only for a bug of ours.
 *
 * What the library finds while it reads a request it sends past all interceptors, from the call that they are given; so
 * that call's own `sendStatus` is replaced, and nothing is wrapped around it.
 */
const reword = (call: Intercepted): void => {
  const send = call.sendStatus.bind(call);
  call.sendStatus = (sent) => send(sent.code === status.OK ? sent : { ...sent, ...rewordedBy(sent.details) });
};

const intercept =
  (limits: RequestLimits) =>
  ({ requestStream }: Method, call: Intercepted): ServerInterceptingCallInterface => {
    reword(call);
    boundRequests(call, !requestStream, limits);
    return call;
  };

const register = (server: Server, hosting: GrpcHosting): void => {
  for (const endpoint of hosting.routes) {
    for (const name of PACKAGES) {
      const type = TYPES[endpoint.method.methodKind];
      const handler = type === 'unary' ? unaryHandler(endpoint, name, hosting) : streamHandler(endpoint, name, hosting);
      server.register(pathOf(endpoint.method, name), handler, raw, raw, type);
    }
  }
};

const shutDown = async (server: Server, connections: Connections, drainMs: number): Promise<void> => {
  const force = (): void => {
    server.forceShutdown();
    connections.cut();
  };
  const timer = setTimeout(force, drainMs);
  const closed = connections.close();
  server.tryShutdown(() => undefined); // sends every caller away; the library does not know when they have gone
  if (drainMs <= 0) force();
  await closed;
  clearTimeout(timer);
};

const STREAMS_PER_CONNECTION = 1_024;
// Whoever does not answer a ping is gone. Nobody is cut off for pinging us.
const PING_EVERY_MS = 60_000;
const PING_TIMEOUT_MS = 20_000;

/**
 * Serves every RPC of the interface over gRPC, under both package names from the same handlers, the health check and reflection.
 *
 * Requests reach the handlers undecoded, so that bytes that are no message are the caller's mistake and not ours. Pings
 * without calls are answered, however often they come.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveGrpc = async (hosting: Hosting): Promise<Listening> => {
  setLogVerbosity(logVerbosity.NONE); // what the library has to say reaches us as errors
  const server = new Server({
    'grpc.max_receive_message_length': hosting.maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION,
    'grpc.keepalive_time_ms': PING_EVERY_MS,
    'grpc.keepalive_timeout_ms': PING_TIMEOUT_MS,
    'grpc.enable_channelz': 0, // nobody asks for its counters, and each call pays for them
    interceptors: [intercept({ ...hosting, socketOf: (peer) => connections.of(peer) }) as unknown as ServerInterceptor],
  });
  const peers: Peers = { of: (peer) => connections.of(peer) };
  register(server, { ...hosting, peers });
  const health = healthService(hosting.isReady ?? (() => true));
  server.register(pathOf(Health.method.check, OWN_PACKAGE), health.check, raw, raw, 'unary');
  server.register(pathOf(Health.method.watch, OWN_PACKAGE), health.watch, raw, raw, 'serverStream');
  const reflection = reflectionHandler();
  for (const path of REFLECTION_PATHS) server.register(path, reflection, raw, raw, 'bidi');
  const connections = await acceptConnections(
    server.createConnectionInjector(ServerCredentials.createInsecure()),
    hosting,
    { connections: hosting.maxConnections, handshakeMs: hosting.handshakeMs ?? HANDSHAKE_MS, tls: hosting.tls },
  );
  return {
    port: connections.port,
    close: ({ drainMs }) => {
      health.leave();
      return shutDown(server, connections, drainMs);
    },
  };
};
