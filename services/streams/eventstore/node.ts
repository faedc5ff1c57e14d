import { create } from '@bufbuild/protobuf';

import {
  type ClusterInfo,
  ClusterInfoSchema,
  MemberInfo_VNodeState as State,
} from '../../../proto/gen/event_store/client/gossip_pb.js';
import {
  type SupportedMethods,
  SupportedMethodsSchema,
} from '../../../proto/gen/event_store/client/server_features_pb.js';
import { uuidText } from '../../kernel/encoding/id-text.js';
import { TICKS_IN_MS } from './recorded.js';
import { uuidOf } from './uuid.js';

/** The server version in answers to clients, which parse three numbers. */
const PROTOCOL_VERSION = '23.10.6';

/** The description of this server for clients: the only node of its cluster, and its leader. */
export type ServedNode = {
  /** The 16 bytes of a UUID, new for each start of the server. */
  readonly instanceId: Uint8Array;
  /** The host that it listens on. */
  readonly address: string;
  readonly port: () => number;
  /** The position of the last event of the log. */
  readonly head: () => Promise<bigint>;
  readonly now: () => number;
};

const AUTHORITY = /^(?:\[(?<ipv6>[\da-f:.]+)\]|(?<host>[^:@/[\]]+))(?::(?<port>\d{1,5}))?$/iu;

/**
 * The endpoint of the node for a client that has sent this authority (`Host` in HTTP/1.1): the one that the client has
 * connected to, because the one listened on may be a wildcard address, or behind a proxy. An authority without a port
 * gets the port that is listened on.
 */
const endpointFor = ({ address, port }: ServedNode, authority = ''): { address: string; port: number } => {
  const { ipv6, host = ipv6, port: given } = AUTHORITY.exec(authority)?.groups ?? {};
  return { address: host ?? address, port: given === undefined ? port() : Number(given) };
};

const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

/** Builds the answer of Gossip.Read for a client that has sent this authority. */
export const clusterOfOne = (node: ServedNode, authority: string | undefined): ClusterInfo =>
  create(ClusterInfoSchema, {
    members: [
      {
        instanceId: uuidOf(node.instanceId, 'string'),
        timeStamp: UNIX_EPOCH_TICKS + BigInt(node.now()) * TICKS_IN_MS,
        state: State.Leader,
        isAlive: true,
        httpEndPoint: endpointFor(node, authority),
      },
    ],
  });

const NO_EPOCH = { epochPosition: -1, epochNumber: -1, epochId: '00000000-0000-0000-0000-000000000000' };

/** States that the TCP protocol, which 23.10 was the last to support, has no port. */
const noTcp = (address: string) => ({
  internalTcpIp: address,
  internalTcpPort: 0,
  internalSecureTcpPort: 0,
  externalTcpIp: address,
  externalTcpPort: 0,
  externalSecureTcpPort: 0,
});

/**
 * Builds the answer of `/gossip` for a client that has sent this `Host`. The checkpoints are positions of this log,
 * which has no epochs.
 *
 * @throws {StoreUnavailable} when the head of the log cannot be read.
 */
export const nodeGossip = async (node: ServedNode, host: string | undefined): Promise<object> => {
  const { instanceId, head, now } = node;
  const { address, port } = endpointFor(node, host);
  const end = Number(await head());
  const member = {
    instanceId: uuidText(instanceId),
    timeStamp: new Date(now()).toISOString(),
    state: 'Leader',
    isAlive: true,
    ...noTcp(address),
    httpEndPointIp: address,
    httpEndPointPort: port,
    lastCommitPosition: end,
    writerCheckpoint: end,
    chaserCheckpoint: end,
    ...NO_EPOCH,
    nodePriority: 0,
    isReadOnlyReplica: false,
    esVersion: PROTOCOL_VERSION,
  };
  return { members: [member], serverIp: address, serverPort: port };
};

/** Builds the answer of `/info`. */
export const nodeInfo = (): object => ({
  esVersion: `${PROTOCOL_VERSION}.0`,
  state: 'leader',
  features: { projections: false, userManagement: false, atomPub: false },
  authentication: { type: 'insecure', properties: {} },
});

const PERSISTENT_SERVICE = 'event_store.client.persistent_subscriptions.persistentsubscriptions';
const STREAMS = 'event_store.client.streams.streams';

/** Names are in lower case, because most clients compare them case-sensitively. */
type Method = readonly [service: string, method: string, features: readonly string[]];

const BATCH_APPEND: Method = [STREAMS, 'batchappend', ['deadline_duration']];

/** The methods of persistent subscriptions. */
const PERSISTENT = ['create', 'update', 'delete', 'read', 'getinfo', 'list', 'replayparked', 'restartsubsystem'];

const METHODS: readonly Method[] = [
  [STREAMS, 'read', ['position', 'events']],
  [STREAMS, 'append', []],
  [STREAMS, 'delete', []],
  [STREAMS, 'tombstone', []],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
  ...PERSISTENT.map((name): Method => [PERSISTENT_SERVICE, name, ['stream', 'all']]),
];

/**
 * Builds the answer of GetSupportedMethods.
 *
 * @param isRestricted true when appends may be denied. BatchAppend is then served but not listed: official clients
 * show no reason for a denied append of a batch.
 */
export const supportedMethods = ({ isRestricted }: { readonly isRestricted: boolean }): SupportedMethods =>
  create(SupportedMethodsSchema, {
    methods: [...METHODS, ...(isRestricted ? [] : [BATCH_APPEND])].map(([serviceName, methodName, features]) => ({
      serviceName,
      methodName,
      features: [...features],
    })),
    eventStoreServerVersion: PROTOCOL_VERSION,
  });
