import {
  type ClusterInfo,
  MemberInfo_VNodeState as State,
} from '../../../../proto/gen/event_store/client/gossip_pb.js';
import { hostAndPort, type NodeAddress } from '../address.js';

const leadersIn = ({ members }: ClusterInfo): readonly NodeAddress[] =>
  members.flatMap(({ state, isAlive, httpEndPoint }) =>
    isAlive && state === State.Leader && httpEndPoint ? [{ host: httpEndPoint.address, port: httpEndPoint.port }] : [],
  );

/**
 * Determines the leader from the gossip of several nodes: the one that most of them name, because a node that lost the
 * leadership while it was suspended still names itself for a moment.
 *
 * @returns `undefined` when no node names a leader.
 */
export const leaderOf = (answers: readonly ClusterInfo[]): NodeAddress | undefined => {
  const votes = new Map<string, { readonly leader: NodeAddress; count: number }>();
  for (const leader of answers.flatMap(leadersIn)) {
    const key = hostAndPort(leader);
    const vote = votes.get(key) ?? { leader, count: 0 };
    vote.count += 1;
    votes.set(key, vote);
  }
  return [...votes.values()].sort((a, b) => b.count - a.count)[0]?.leader;
};
