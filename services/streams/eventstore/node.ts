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
  /** The host that clients connect to. */
  readonly address: string;
  readonly port: () => number;
  /** The position of the last event of the log. */
  readonly head: () => Promise<bigint>;
  readonly now: () => number;
};

const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

/** Builds the answer of Gossip.Read. */
export const clusterOfOne = ({ instanceId, address, port, now }: ServedNode): ClusterInfo =>
  create(ClusterInfoSchema, {
    members: [
      {
        instanceId: uuidOf(instanceId, 'string'),
        timeStamp: UNIX_EPOCH_TICKS + BigInt(now()) * TICKS_IN_MS,
        state: State.Leader,
        isAlive: true,
        httpEndPoint: { address, port: port() },
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
 * Builds the answer of `/gossip` over HTTP/1.1. The checkpoints are positions of this log, which has no epochs.
 *
 * @throws {StoreUnavailable} when the head of the log cannot be read.
 */
export const nodeGossip = async ({ instanceId, address, port, head, now }: ServedNode): Promise<object> => {
  const end = Number(await head());
  const member = {
    instanceId: uuidText(instanceId),
    timeStamp: new Date(now()).toISOString(),
    state: 'Leader',
    isAlive: true,
    ...noTcp(address),
    httpEndPointIp: address,
    httpEndPointPort: port(),
    lastCommitPosition: end,
    writerCheckpoint: end,
    chaserCheckpoint: end,
    ...NO_EPOCH,
    nodePriority: 0,
    isReadOnlyReplica: false,
    esVersion: PROTOCOL_VERSION,
  };
  return { members: [member], serverIp: address, serverPort: port() };
};

/** Builds the answer of `/info` over HTTP/1.1. */
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
 * Lists the methods that clients may call.
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
