import { lookup } from 'node:dns/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterInfo, Gossip } from '../../../../proto/gen/event_store/client/gossip_pb.js';
import { hostAndPort, type NodeAddress } from '../address.js';
import { textOf } from '../eventstore-fault.js';
import { callOnce, nodeChannel } from './channel.js';
import { leaderOf } from './leader.js';
import type { NodeSettings } from './settings.js';

/** A node that is asked for the leader; its certificate may be for `name` and not for its address. */
type Seed = NodeAddress & { readonly name: string };

/** The time to wait for the other nodes after one has named a leader, in milliseconds. */
const OTHERS_MS = 100;

const resolved = async ({ host, port }: NodeAddress): Promise<readonly Seed[]> => {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => ({ host: address, port, name: host }));
};

/** @throws the error of the first DNS name when none of them resolves. */
const seedsOf = async ({ hosts, isDiscovered }: NodeSettings): Promise<readonly Seed[]> => {
  if (!isDiscovered) return hosts.map((host) => ({ ...host, name: host.host }));
  const lookups = await Promise.allSettled(hosts.map(resolved));
  const seeds = lookups.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const [first] = lookups;
  if (seeds.length === 0 && first?.status === 'rejected') throw first.reason;
  return seeds;
};

const membersBy = async (seed: Seed, settings: NodeSettings): Promise<ClusterInfo> => {
  const { channel, cut } = nodeChannel(seed, settings, seed.name);
  try {
    return await callOnce(channel, Gossip.method.read, settings.gossipTimeoutMs);
  } finally {
    channel.close();
    cut();
  }
};

/** The error of a search in which no node has answered, with the error of each node. */
const noAnswer = (seeds: readonly Seed[], gossips: readonly PromiseSettledResult<void>[]): AggregateError => {
  const reasons = gossips.map((each): unknown => (each.status === 'rejected' ? each.reason : undefined));
  const failures = seeds.map((seed, i) => `${hostAndPort(seed)} (${textOf(reasons[i])})`);
  return new AggregateError(reasons, `no node of the cluster answers: ${failures.join(', ')}`);
};

/**
 * Finds the leader of a cluster by asking all nodes at once. Once one has named a leader, the others are waited for no
 * longer than {@link OTHERS_MS}.
 */
const clusterLeader = async (settings: NodeSettings): Promise<NodeAddress> => {
  const seeds = await seedsOf(settings);
  const answers: ClusterInfo[] = [];
  let named = (): void => undefined;
  const first = new Promise<void>((resolve) => (named = resolve));
  const gossips = seeds.map(async (seed) => {
    answers.push(await membersBy(seed, settings));
    if (leaderOf(answers)) named();
  });
  const all = Promise.allSettled(gossips);
  await Promise.race([all, first.then(() => pause(OTHERS_MS))]);
  const leader = leaderOf(answers);
  if (leader) return leader;
  if (answers.length > 0) throw new Error(`none of ${seeds.map(hostAndPort).join(', ')} reports a leader`);
  throw noAnswer(seeds, await all);
};

/** True when the leader has to be found among several nodes. */
export const isCluster = ({ hosts, isDiscovered }: NodeSettings): boolean => hosts.length > 1 || isDiscovered;

/**
 * Finds the node to call: the only host of the connection string, or the leader of the cluster, because decisions and
 * answers must not be based on stale reads.
 *
 * @throws {Error} when no node of the cluster can be reached now, or none is the leader.
 */
export const nodeToCall = (settings: NodeSettings): Promise<NodeAddress> => {
  const [only] = settings.hosts;
  return only && !isCluster(settings) ? Promise.resolve(only) : clusterLeader(settings);
};
