import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { DescMethod } from '@bufbuild/protobuf';
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
import { deleteStream, tombstoneStream, type AppendServices, type AppendResult } from './append/append.js';
import { appendHandler, batchAppendHandler } from './append/append-handler.js';
import { writeTargetOf } from './append/append-request.js';
import { encodedMessage, rpcPath } from './codec.js';
import { failedCall, type ErrorLogger } from './failure.js';
import { administration } from './groups/administration.js';
import { consumeHandler } from './groups/consume.js';
import { type GroupFigures, groupFigures } from './groups/group-figures.js';
import { type GroupRegistry, openGroups } from './groups/groups.js';
import { type GroupCalls, forwardedAdministration, forwardedConsumeHandler } from './groups/forwarded-calls.js';
import { type Admissions, guarding } from './guard.js';
import { type AnswerPage, http1Handler, http2Pages } from './pages.js';
import { clusterOfOne, type ServedNode, supportedMethods } from './node.js';
import type { ReadServices } from './read/read.js';
import type { EncodedHandler, FailedStatus } from '../../kernel/ports/encoded-calls.js';
import type { TlsSource } from '../../kernel/ports/tls.js';
import { RpcError } from '../../kernel/rpc.js';
import { readHandler } from './read/read-handler.js';
import { positionFields } from './recorded.js';
import { decodedRequest } from './request-text.js';
import { type Shutdown, shutdownSignal } from './shutdown.js';

/** Listens for calls, and serves them with the handlers of their paths. */
export type ServeCalls = (hosting: {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly tls: TlsSource | undefined;
  readonly maxMessageBytes: number;
  readonly handlers: ReadonlyMap<string, EncodedHandler>;
  readonly statusOf: (thrown: unknown, path: string) => FailedStatus;
  readonly http1: (socket: Socket) => void;
  readonly answerPage: AnswerPage;
}) => Promise<{ readonly port: number; close(options: { readonly drainMs: number }): Promise<void> }>;

/** The address, services and security of a server of the EventStoreDB protocol. */
export type EventstoreHosting = {
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  readonly reading: ReadServices;
  readonly writing: AppendServices;
  /** Set where the log is in an event store, whose consumer groups are used. */
  readonly groupCalls?: GroupCalls | undefined;
  /** Admits each call by its credentials; without it, every caller may call. */
  readonly admissions?: Admissions | undefined;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  readonly serve: ServeCalls;
  readonly logger: ErrorLogger;
};

/** A server of the EventStoreDB protocol that is listening. */
export interface EventstoreListening {
  readonly port: number;
  /** Reads the figures of the consumer groups; empty where the groups are those of an event store. */
  groups(): Promise<readonly GroupFigures[]>;
  /**
   * Ends subscriptions and streams of appends with UNAVAILABLE at once, reads and appends in the same way after
   * `drainMs`, and calls of other RPCs with their connections {@link LAST_STATUSES_MS} later.
   */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * Maximum size of a received message, in bytes. Official clients put at most about 3 MiB of events into one message,
 * and a larger event into one alone: up to this size, the answer says that the append is too large.
 */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;

/** Makes the handler of a unary RPC from a function on encoded messages. */
const unary =
  (answer: (request: Buffer) => Promise<Buffer>): EncodedHandler =>
  async (call) =>
    call.send(await answer(await call.request()));

/** The handlers of RPCs. */
type Handlers = readonly (readonly [method: DescMethod, handle: EncodedHandler])[];

const positionOption = ({ position }: AppendResult) => ({ case: 'position', value: positionFields(position) }) as const;

const streamsHandlers = ({ reading, writing }: EventstoreHosting, shutdown: Shutdown): Handlers => {
  const { read, append, batchAppend, delete: remove, tombstone } = Streams.method;
  const removed = unary(async (request) => {
    const written = await deleteStream(writing, writeTargetOf(decodedRequest(DeleteReqSchema, request).options));
    return encodedMessage(DeleteRespSchema, { positionOption: positionOption(written) });
  });
  const tombstoned = unary(async (request) => {
    const written = await tombstoneStream(writing, writeTargetOf(decodedRequest(TombstoneReqSchema, request).options));
    return encodedMessage(TombstoneRespSchema, { positionOption: positionOption(written) });
  });
  return [
    [read, readHandler(reading, shutdown)],
    [append, appendHandler(writing, shutdown)],
    [batchAppend, batchAppendHandler(writing, shutdown)],
    [remove, removed],
    [tombstone, tombstoned],
  ];
};

/** Opens the consumer groups that are kept in the log; `undefined` where the groups are those of an event store. */
const openOwnGroups = async ({
  reading,
  writing,
  logger,
  groupCalls,
}: EventstoreHosting): Promise<GroupRegistry | undefined> => {
  if (groupCalls) return undefined;
  const append: typeof writing.store.append = (...appended) => writing.store.append(...appended);
  return openGroups({ ...reading, newId: writing.newId, append }, logger);
};

const groupsHandlers = (
  hosting: EventstoreHosting,
  groups: GroupRegistry | undefined,
  shutdown: Shutdown,
): Handlers => {
  const { reading, writing, groupCalls } = hosting;
  const { present } = reading;
  const { read } = PersistentSubscriptions.method;
  const calls = (answers: ReturnType<typeof administration>): Handlers =>
    answers.map(([method, answer]) => [method, unary(answer)]);
  if (groups)
    return [[read, consumeHandler({ groups, present }, shutdown)], ...calls(administration(groups, writing.access))];
  if (!groupCalls) return [];
  return [
    [read, forwardedConsumeHandler(groupCalls, present, shutdown)],
    ...calls(forwardedAdministration(groupCalls, writing.access)),
  ];
};

const nodeHandlers = ({ writing }: EventstoreHosting, node: ServedNode): Handlers => [
  [
    ServerFeatures.method.getSupportedMethods,
    unary(() => Promise.resolve(encodedMessage(SupportedMethodsSchema, supportedMethods(writing.access)))),
  ],
  [
    Gossip.method.read,
    async (call) => {
      await call.request();
      await call.send(encodedMessage(ClusterInfoSchema, clusterOfOne(node, call.header(':authority'))));
    },
  ],
];

/** After the drain time, connections have this long to receive the final statuses of their calls, in milliseconds. */
const LAST_STATUSES_MS = 500;

/**
 * Serves the log by the public EventStoreDB protocol, so that official clients of any language can read and follow it
 * and, where they may, append to it: gRPC, and the node's information and health pages.
 *
 * @throws {Error} when the address cannot be listened on.
 * @throws {Fault} when the recorded consumer groups cannot be read.
 */
export const serveEventstore = async (hosting: EventstoreHosting): Promise<EventstoreListening> => {
  const [begun, overdue] = [shutdownSignal(), shutdownSignal()];
  const { reading, host, port, tls, logger, admissions, serve } = hosting;
  let bound = 0;
  const head = () => reading.log.head();
  const node: ServedNode = { instanceId: randomBytes(16), address: host, port: () => bound, head, now: reading.now };
  const shutdown: Shutdown = { begun: begun.signal, overdue: overdue.signal };
  const groups = await openOwnGroups(hosting);
  const handlers = [
    ...streamsHandlers(hosting, shutdown),
    ...groupsHandlers(hosting, groups, shutdown),
    ...nodeHandlers(hosting, node),
  ].map(([method, handle]) => [rpcPath(method), handle] as const);
  const guard = admissions && guarding(admissions);
  const server = await serve({
    ...{ protocol: 'the EventStoreDB protocol', host, port, tls, maxMessageBytes: MAX_MESSAGE_BYTES },
    handlers: new Map(handlers.map(([path, handle]) => [path, guard ? guard(path, handle) : handle])),
    statusOf: (thrown, path) => failedCall(logger, path, thrown),
    http1: http1Handler(node, logger),
    answerPage: http2Pages(node, logger),
  });
  bound = server.port;
  return {
    port: bound,
    groups: async () => (groups ? groupFigures(groups) : []),
    close: async ({ drainMs }) => {
      begun.abort();
      const timer = setTimeout(() => overdue.abort(), drainMs);
      await Promise.all([
        groups?.closeAll(() => new RpcError('UNAVAILABLE', 'Server Is Shutting Down'), overdue.signal),
        server.close({ drainMs: drainMs + LAST_STATUSES_MS }),
      ]);
      clearTimeout(timer);
    },
  };
};
