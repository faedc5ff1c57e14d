import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, ClusterNode } from '../eventstore-cluster/cluster.js';
import { until } from '../until.js';

/** A fault in a cluster; it is over when the promise resolves: there is a leader then, and every node runs. */
export type ClusterFault = (cluster: Cluster) => Promise<void>;

const AWAY_MS = 1_000;

const runs = (node: ClusterNode): Promise<boolean> => until(() => Promise.resolve(node.isRunning()), Boolean);

/** Waits until a node has ended by itself more than `endings` times, and runs again. */
const endedItself = async (node: ClusterNode, endings: number): Promise<void> => {
  await until(
    () => Promise.resolve(node.endings()),
    (now) => now > endings,
  );
  await runs(node);
};

/** The first follower. */
const aFollower = async (cluster: Cluster): Promise<ClusterNode> => {
  const [follower] = await cluster.followers();
  if (follower === undefined) throw new Error('the cluster has no followers');
  return follower;
};

const backSoon = async (node: ClusterNode): Promise<void> => {
  await pause(AWAY_MS);
  await node.start();
};

const leaderKilled: ClusterFault = async (cluster) => {
  const leader = await cluster.leader();
  await leader.kill();
  await backSoon(leader); // and may lead again
  await cluster.leader();
};

const deposed =
  (
    lose: (leader: ClusterNode) => Promise<void>,
    comeBack: (leader: ClusterNode) => Promise<void> | void,
  ): ClusterFault =>
  async (cluster) => {
    const leader = await cluster.leader();
    const endings = leader.endings();
    await lose(leader);
    await cluster.leader(leader);
    await comeBack(leader);
    await endedItself(leader, endings);
  };

/** Runs another fault while a follower has a fault of its own, which `trouble` begins and `over` ends. */
const beside =
  (
    fault: ClusterFault,
    trouble: (follower: ClusterNode) => Promise<void>,
    over: (follower: ClusterNode) => Promise<void> | void,
  ): ClusterFault =>
  async (cluster) => {
    const follower = await aFollower(cluster);
    await trouble(follower);
    try {
      await fault(cluster);
    } finally {
      await over(follower);
    }
  };

const allAway =
  (ms: number): ClusterFault =>
  async (cluster) => {
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    await pause(ms);
    await Promise.all(cluster.nodes.map((node) => node.start()));
    await cluster.leader();
  };

/** Kills the leader while one of the other two nodes is suspended: there is no majority until that node resumes. */
const noMajority: ClusterFault = async (cluster) => {
  const [leader, follower] = [await cluster.leader(), await aFollower(cluster)];
  await follower.standStill();
  await leader.kill();
  await pause(AWAY_MS);
  follower.goOn();
  await backSoon(leader);
  await cluster.leader();
};

const resigned: ClusterFault = async (cluster) => {
  await (await cluster.leader()).resign();
  await until(
    () => Promise.resolve(cluster.leaderNow()),
    (leader) => leader === undefined,
  );
  await cluster.leader();
};

const followerSuspended: ClusterFault = async (cluster) => {
  const follower = await aFollower(cluster);
  await follower.standStill();
  await pause(AWAY_MS);
  follower.goOn();
};

/** The leader answers no new call for {@link AWAY_MS}, and never answers the calls that were open. */
const callsForgotten: ClusterFault = async (cluster) => {
  const leader = await cluster.leader();
  await leader.mute();
  await pause(AWAY_MS);
  await leader.speak();
};

const LAG_MS = 5_000;

/** All faults, by their name in test tables. */
export const CLUSTER_FAULTS = {
  'leader killed': leaderKilled,
  'leader suspended until it is deposed': deposed(
    (leader) => leader.standStill(),
    (leader) => leader.goOn(),
  ),
  'leader cut off from the followers until it is deposed': deposed(
    (leader) => leader.isolate(),
    (leader) => leader.rejoin(),
  ),
  'leader resigns': resigned,
  'leader never answers its open calls': callsForgotten,
  'follower suspended for 1 s': followerSuspended,
  'follower lags 5 s, leader killed': beside(
    leaderKilled,
    (follower) => follower.lag(LAG_MS),
    (follower) => follower.lag(0),
  ),
  'follower shows no new events, leader resigns': beside(
    resigned,
    (follower) => follower.lag('frozen'),
    (follower) => follower.lag(0),
  ),
  'leader killed, a follower suspended': noMajority,
  'all nodes killed for 1 s': allAway(1_000),
  'all nodes killed for 30 s': allAway(30_000),
} as const satisfies Readonly<Record<string, ClusterFault>>;

export type FaultName = keyof typeof CLUSTER_FAULTS;
