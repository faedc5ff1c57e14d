import { create } from '@bufbuild/protobuf';
import {
  type ClusterInfo,
  ClusterInfoSchema,
  MemberInfo_VNodeState as State,
} from '../../../proto/gen/event_store/client/gossip_pb.js';
import { uuidOf, uuidText } from './uuid.js';

/** The release of the protocol that is spoken; clients parse three numbers. */
export const PROTOCOL_VERSION = '23.10.6';

/** This server, as it describes itself: the only node of its cluster, which leads. */
export type ServedNode = {
  /** 16 bytes. */
  readonly instanceId: Uint8Array;
  /** Where clients connect to. */
  readonly address: string;
  readonly port: () => number;
  /** The position of the last event of the log. */
  readonly head: () => Promise<bigint>;
  readonly now: () => number;
};

const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

/** What Gossip.Read answers. */
export const clusterOfOne = ({ instanceId, address, port, now }: ServedNode): ClusterInfo =>
  create(ClusterInfoSchema, {
    members: [
      {
        instanceId: uuidOf(instanceId, 'string'),
        timeStamp: UNIX_EPOCH_TICKS + BigInt(now()) * 10_000n,
        state: State.Leader,
        isAlive: true,
        httpEndPoint: { address, port: port() },
      },
    ],
  });

const NO_EPOCH = { epochPosition: -1, epochNumber: -1, epochId: '00000000-0000-0000-0000-000000000000' };

/** No port of the protocol over TCP that 23.10 was the last to speak. */
const noTcp = (address: string) => ({
  internalTcpIp: address,
  internalTcpPort: 0,
  internalSecureTcpPort: 0,
  externalTcpIp: address,
  externalTcpPort: 0,
  externalSecureTcpPort: 0,
});

/**
 * What `/gossip` answers over HTTP/1.1. The checkpoints are positions of this log, which has no epochs.
 *
 * @throws {StoreUnavailable}
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

/** What `/info` answers over HTTP/1.1. */
export const nodeInfo = (): object => ({
  esVersion: `${PROTOCOL_VERSION}.0`,
  state: 'leader',
  features: { projections: false, userManagement: false, atomPub: false },
  authentication: { type: 'insecure', properties: {} },
});
