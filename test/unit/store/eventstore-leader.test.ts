import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  type ClusterInfo,
  ClusterInfoSchema,
  MemberInfo_VNodeState as State,
} from '../../../proto/gen/event_store/client/gossip_pb.js';
import { leaderOf } from '../../../services/store/eventstore/nodes/leader.js';

/** A node's view of its cluster: the state of each member, and whether it is considered alive. */
const clusterWith = (members: Readonly<Record<string, readonly [State, boolean]>>): ClusterInfo =>
  create(ClusterInfoSchema, {
    members: Object.entries(members).map(([address, [state, isAlive]]) => ({
      state,
      isAlive,
      httpEndPoint: { address, port: 2113 },
    })),
  });

const leads = [State.Leader, true] as const;
const follows = [State.Follower, true] as const;

describe('the leader of a cluster', () => {
  it('is the one that its nodes name', () => {
    const answer = clusterWith({ a: follows, b: leads, c: follows });
    expect(leaderOf([answer, answer])).toEqual({ host: 'b', port: 2113 });
  });

  it('is the one that most nodes name, also when the first answer names another', () => {
    const deposed = clusterWith({ a: leads, b: follows, c: follows });
    const others = clusterWith({ a: follows, b: leads, c: follows });
    expect(leaderOf([deposed, others, others])).toEqual({ host: 'b', port: 2113 });
  });

  it.each([
    ['the leader is dead', clusterWith({ a: [State.Leader, false], b: follows })],
    ['the leader resigns', clusterWith({ a: [State.ResigningLeader, true], b: follows })],
    ['it is to be elected', clusterWith({ a: [State.Unknown, true], b: [State.DiscoverLeader, true] })],
    ['only replicas are left', clusterWith({ a: [State.ReadOnlyReplica, true], b: [State.ReadOnlyLeaderless, true] })],
  ])('is none where %s', (_, answer) => {
    expect(leaderOf([answer])).toBeUndefined();
  });

  it('is none where no node answers', () => {
    expect(leaderOf([])).toBeUndefined();
  });
});
