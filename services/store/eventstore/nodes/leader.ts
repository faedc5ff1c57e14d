import {
  type ClusterInfo,
  MemberInfo_VNodeState as State,
} from '../../../../proto/gen/event_store/client/gossip_pb.js';
import type { Endpoint } from '../address.js';

const leadersIn = ({ members }: ClusterInfo): readonly Endpoint[] =>
  members.flatMap(({ state, isAlive, httpEndPoint }) =>
    isAlive && state === State.Leader && httpEndPoint ? [{ host: httpEndPoint.address, port: httpEndPoint.port }] : [],
  );

/**
 * The node that leads, by what nodes say of their cluster: the one that most of them name, since a node that was
 * deposed while it stood still goes on naming itself for a moment.
 */
export const leaderOf = (answers: readonly ClusterInfo[]): Endpoint | undefined => {
  const votes = new Map<string, { readonly leader: Endpoint; count: number }>();
  for (const leader of answers.flatMap(leadersIn)) {
    const key = `${leader.host}:${leader.port}`;
    const vote = votes.get(key) ?? { leader, count: 0 };
    vote.count += 1;
    votes.set(key, vote);
  }
  return [...votes.values()].sort((a, b) => b.count - a.count)[0]?.leader;
};
