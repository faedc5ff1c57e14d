import { create } from '@bufbuild/protobuf';
import {
  type ClusterInfo,
  ClusterInfoSchema,
  MemberInfo_VNodeState as State,
} from '../../../proto/gen/event_store/client/gossip_pb.js';
import { uuidOf } from './uuid.js';

/** Where clients of this server connect to. */
export type Advertised = { readonly address: string; readonly port: number };

const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

/** A cluster of one, which leads. */
export const clusterOfOne = (advertised: Advertised, instanceId: Uint8Array, nowMs: number): ClusterInfo =>
  create(ClusterInfoSchema, {
    members: [
      {
        instanceId: uuidOf(instanceId, 'string'),
        timeStamp: UNIX_EPOCH_TICKS + BigInt(nowMs) * 10_000n,
        state: State.Leader,
        isAlive: true,
        httpEndPoint: advertised,
      },
    ],
  });
