import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, ClusterNode } from '../eventstore-cluster/cluster.js';
import { until } from '../until.js';

/** A fault in a cluster; it is over when the promise resolves: there is a leader then, and every node runs. */
export type ClusterFault = (cluster: Cluster) => Promise<void>;

/** The time for which one node is killed, suspended or mute; `noMajority` kills the leader for twice as long. */
const AWAY_MS = 1_000;

const untilRunning = (node: ClusterNode): Promise<boolean> => until(() => Promise.resolve(node.isRunning()), Boolean);

/** Waits until a node has ended by itself more than `endings` times, and runs again. */
const endedItself = async (node: ClusterNode, endings: number): Promise<void> => {
  await until(
    () => Promise.resolve(node.endings()),
    (now) => now > endings,
  );
  await untilRunning(node);
};

/** The first follower. */
const firstFollower = async (cluster: Cluster): Promise<ClusterNode> => {
  const [follower] = await cluster.followers();
  if (follower === undefined) throw new Error('the cluster has no followers');
  return follower;
};

/** Starts a killed node after {@link AWAY_MS}. */
const startAgain = async (node: ClusterNode): Promise<void> => {
  await pause(AWAY_MS);
  await node.start();
};

/** Kills the leader, and starts it again. */
const leaderKilled: ClusterFault = async (cluster) => {
  const leader = await cluster.leader();
  await leader.kill();
  await startAgain(leader); // and may lead again
  await cluster.leader();
};

/**
 * Takes the leader away with `lose` until another node leads, then brings it back with `comeBack`. It finds that it is
 * no longer the leader, ends its process, and is started again.
 */
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

/** Runs another fault while a follower has a fault of its own, which `problem` begins and `over` ends. */
const beside =
  (
    fault: ClusterFault,
    problem: (follower: ClusterNode) => Promise<void>,
    over: (follower: ClusterNode) => Promise<void> | void,
  ): ClusterFault =>
  async (cluster) => {
    const follower = await firstFollower(cluster);
    await problem(follower);
    try {
      await fault(cluster);
    } finally {
      await over(follower);
    }
  };

/** Kills all nodes, and starts them after a time in milliseconds. */
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
  const [leader, follower] = [await cluster.leader(), await firstFollower(cluster)];
  await follower.suspend();
  await leader.kill();
  await pause(AWAY_MS);
  follower.resume();
  await startAgain(leader);
  await cluster.leader();
};

/** Makes the leader resign, and waits for the next one. */
const resigned: ClusterFault = async (cluster) => {
  await (await cluster.leader()).resign();
  await until(
    () => Promise.resolve(cluster.leaderNow()),
    (leader) => leader === undefined,
  );
  await cluster.leader();
};

/** Suspends a follower for {@link AWAY_MS}. */
const followerSuspended: ClusterFault = async (cluster) => {
  const follower = await firstFollower(cluster);
  await follower.suspend();
  await pause(AWAY_MS);
  follower.resume();
};

/** The leader answers no calls for {@link AWAY_MS}, and never ends those that were open meanwhile. */
const callsForgotten: ClusterFault = async (cluster) => {
  const leader = await cluster.leader();
  await leader.mute();
  await pause(AWAY_MS);
  await leader.speak();
};

/** The time after which a lagging follower shows an event. */
const LAG_MS = 5_000;

/** All faults, by their name in test tables. */
export const CLUSTER_FAULTS = {
  'leader killed': leaderKilled,
  'leader suspended until it is deposed': deposed(
    (leader) => leader.suspend(),
    (leader) => leader.resume(),
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
