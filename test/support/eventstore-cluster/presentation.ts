import { ClusterInfoSchema, MemberInfo_VNodeState as State } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { SupportedMethodsSchema } from '../../../proto/gen/event_store/client/server_features_pb.js';
import type { Node } from './node.js';
import { encoded, idMessage } from './wire.js';

const STATES = { leader: State.Leader, follower: State.Follower, unknown: State.Unknown } as const;

/** The start of 1970 in .NET ticks, which are 100 ns and are counted from the year 1; 10,000 are a millisecond. */
const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

/** The cluster as this node sees it. */
export const clusterInfo = ({ members }: Node): Buffer =>
  encoded(ClusterInfoSchema, {
    members: members.members().map(({ instance, port, state, isAlive }) => ({
      instanceId: idMessage(Buffer.from(instance.replaceAll('-', ''), 'hex'), 'string'),
      timeStamp: UNIX_EPOCH_TICKS + BigInt(Date.now()) * 10_000n,
      state: STATES[state],
      isAlive,
      httpEndPoint: { address: '127.0.0.1', port },
    })),
  });

const STREAMS = 'event_store.client.streams.streams';

/** The methods with their features, named as EventStoreDB names them. */
const METHODS: readonly (readonly [service: string, method: string, features: readonly string[]])[] = [
  [STREAMS, 'read', ['position', 'events']],
  [STREAMS, 'append', []],
  [STREAMS, 'batchappend', ['deadline_duration']],
  [STREAMS, 'delete', []],
  [STREAMS, 'tombstone', []],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
];

/** The methods that clients may call, and the server version. */
export const supported = ({ version }: Node): Buffer =>
  encoded(SupportedMethodsSchema, {
    methods: METHODS.map(([serviceName, methodName, features]) => ({
      serviceName,
      methodName,
      features: [...features],
    })),
    eventStoreServerVersion: version,
  });
