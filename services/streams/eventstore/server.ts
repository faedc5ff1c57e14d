import { randomBytes } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import { type handleUnaryCall, logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { ClusterInfoSchema, Gossip } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { PersistentSubscriptions } from '../../../proto/gen/event_store/client/persistent_pb.js';
import { ServerFeatures, SupportedMethodsSchema } from '../../../proto/gen/event_store/client/server_features_pb.js';
import {
  DeleteReqSchema,
  DeleteRespSchema,
  Streams,
  TombstoneReqSchema,
  TombstoneRespSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { deleteStream, tombstoneStream, type AppendServices, type AppendResult } from './append.js';
import { appendHandler, batchAppendHandler } from './append-handler.js';
import { targetOf } from './append-request.js';
import { decoded, encodedAs } from './codec.js';
import { acceptConnections } from './connections.js';
import { failedCall, type StreamsLog } from './failed-call.js';
import { administration } from './groups/administration.js';
import { consumeHandler } from './groups/consume.js';
import { type GroupFigures, groupFigures } from './groups/group-figures.js';
import { type GroupRegistry, openGroups } from './groups/groups.js';
import { type GroupCalls, passedAdministration, passedConsumeHandler } from './groups/forwarded-calls.js';
import { type Admissions, guardInterceptor } from './guard.js';
import { http1Handler } from './http1.js';
import { clusterOfOne, type ServedNode } from './node.js';
import type { ReadServices } from './read.js';
import type { TlsSource } from '../../kernel/ports/tls.js';
import { RpcError } from '../../kernel/rpc.js';
import { readHandler } from './read-handler.js';
import { positionFields } from './recorded.js';
import { supportedMethods } from './server-features.js';
import { type Shutdown, shutdownSignal } from './shutdown.js';

/** The address, services and security of a server of the EventStoreDB protocol. */
export type EventstoreHosting = {
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  readonly reading: ReadServices;
  readonly writing: AppendServices;
  /** Set where the log is in an event store, whose groups of consumers are used. */
  readonly groupCalls?: GroupCalls | undefined;
  /** Admits each call by its credentials; without it, every caller may call. */
  readonly admissions?: Admissions | undefined;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  readonly logger: StreamsLog;
};

/** A server of the EventStoreDB protocol that is listening. */
export interface EventstoreListening {
  readonly port: number;
  /** Reads the figures of the groups of consumers; empty where they are those of an event store. */
  groups(): Promise<readonly GroupFigures[]>;
  /** Ends subscriptions with UNAVAILABLE at once, and all other calls in the same way after `drainMs`. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/** More than clients send in one message, which is at most 3 MiB and its frame. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;

/** The maximum of concurrent calls on one connection; further ones wait. */
const MAX_CALLS = 1_024;

const raw = (bytes: Buffer): Buffer => bytes;

const pathOf = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;

/** Makes the handler of a unary RPC from a function on encoded messages. */
const unary =
  (rpc: string, logger: StreamsLog, answer: (request: Buffer) => Promise<Buffer>): handleUnaryCall<Buffer, Buffer> =>
  ({ request }, respond) =>
    void answer(request).then(
      (bytes) => respond(null, bytes),
      (thrown: unknown) => respond(failedCall(logger, rpc, thrown)),
    );

const positionOption = ({ position }: AppendResult) => ({ case: 'position', value: positionFields(position) }) as const;

const registerStreams = (server: Server, { reading, writing, logger }: EventstoreHosting, shutdown: Shutdown): void => {
  const { read, append, batchAppend, delete: remove, tombstone } = Streams.method;
  const removed = unary('Delete', logger, async (request) => {
    const written = await deleteStream(writing, targetOf(decoded(DeleteReqSchema, request).options));
    return encodedAs(DeleteRespSchema, { positionOption: positionOption(written) });
  });
  const tombstoned = unary('Tombstone', logger, async (request) => {
    const written = await tombstoneStream(writing, targetOf(decoded(TombstoneReqSchema, request).options));
    return encodedAs(TombstoneRespSchema, { positionOption: positionOption(written) });
  });
  server.register(pathOf(read), readHandler(reading, shutdown, logger), raw, raw, 'serverStream');
  server.register(pathOf(append), appendHandler(writing, shutdown, logger), raw, raw, 'clientStream');
  server.register(pathOf(batchAppend), batchAppendHandler(writing, shutdown, logger), raw, raw, 'bidi');
  server.register(pathOf(remove), removed, raw, raw, 'unary');
  server.register(pathOf(tombstone), tombstoned, raw, raw, 'unary');
};

/** The groups of the log: kept here, or those of the event store that has the log. */
const openServedGroups = async (
  server: Server,
  { reading, writing, logger, groupCalls }: EventstoreHosting,
  shutdown: Shutdown,
): Promise<GroupRegistry | undefined> => {
  const { present } = reading;
  const register = (consume: ReturnType<typeof consumeHandler>, calls: ReturnType<typeof administration>): void => {
    server.register(pathOf(PersistentSubscriptions.method.read), consume, raw, raw, 'bidi');
    for (const [method, answer] of calls)
      server.register(pathOf(method), unary(method.name, logger, answer), raw, raw, 'unary');
  };
  if (groupCalls) {
    const consume = passedConsumeHandler(groupCalls, present, shutdown, logger);
    register(consume, passedAdministration(groupCalls, writing.access));
    return undefined;
  }
  const append: typeof writing.store.append = (...appended) => writing.store.append(...appended);
  const groups = await openGroups({ ...reading, newId: writing.newId, append }, logger);
  register(consumeHandler({ groups, present }, shutdown, logger), administration(groups, writing.access));
  return groups;
};

const registerNode = (server: Server, { writing, logger }: EventstoreHosting, node: ServedNode): void => {
  const features = unary('GetSupportedMethods', logger, () =>
    Promise.resolve(encodedAs(SupportedMethodsSchema, supportedMethods(writing.access))),
  );
  const cluster = unary('Gossip.Read', logger, () => Promise.resolve(encodedAs(ClusterInfoSchema, clusterOfOne(node))));
  server.register(pathOf(ServerFeatures.method.getSupportedMethods), features, raw, raw, 'unary');
  server.register(pathOf(Gossip.method.read), cluster, raw, raw, 'unary');
};

/** After the drain time, connections have this long to receive the final statuses of their calls, in milliseconds. */
const LAST_WORDS_MS = 500;

const shutDown = (server: Server, drainMs: number, onOverdue: () => void): Promise<void> =>
  new Promise((resolve) => {
    const timers = [setTimeout(onOverdue, drainMs), setTimeout(() => server.forceShutdown(), drainMs + LAST_WORDS_MS)];
    server.tryShutdown(() => {
      timers.forEach(clearTimeout);
      resolve();
    });
  });

/**
 * Serves the log by the public EventStoreDB protocol, so that official clients of any language can read and tail it:
 * gRPC over HTTP/2, and the node's information and health pages over HTTP/1.1.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveEventstore = async (hosting: EventstoreHosting): Promise<EventstoreListening> => {
  setLogVerbosity(logVerbosity.NONE); // everything that the library logs also arrives as errors
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_CALLS,
    ...(hosting.admissions && { interceptors: [guardInterceptor(hosting.admissions)] }),
  });
  const [begun, overdue] = [shutdownSignal(), shutdownSignal()];
  const { reading, host, logger } = hosting;
  let bound = 0;
  const port = (): number => bound;
  const head = () => reading.log.head();
  const node: ServedNode = { instanceId: randomBytes(16), address: host, port, head, now: reading.now };
  const shutdown: Shutdown = { begun: begun.signal, overdue: overdue.signal };
  registerStreams(server, hosting, shutdown);
  const groups = await openServedGroups(server, hosting, shutdown);
  registerNode(server, hosting, node);
  const grpc = server.createConnectionInjector(ServerCredentials.createInsecure()); // TLS is terminated before it
  const connections = await acceptConnections(hosting, {
    http2: (socket) => grpc.injectConnection(socket),
    http1: http1Handler(node, logger),
  });
  bound = connections.port;
  return {
    port: bound,
    groups: async () => (groups ? groupFigures(groups) : []),
    close: async ({ drainMs }) => {
      begun.abort();
      connections.leave();
      await groups?.closeAll(() => new RpcError('UNAVAILABLE', 'Server Is Shutting Down'));
      await shutDown(server, drainMs, () => overdue.abort());
      connections.cut();
    },
  };
};
