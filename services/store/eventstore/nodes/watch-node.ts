import { Gossip } from '../../../../proto/gen/event_store/client/gossip_pb.js';
import type { NodeAddress } from '../address.js';
import { callOnce } from './channel.js';
import { isCluster } from './discovery.js';
import { leaderOf } from './leader.js';
import type { NodeClient } from './node-client.js';
import { serverVersion } from './server-version.js';
import type { NodeSettings } from './settings.js';

/** The pause between two checks, and the time within which the node must answer, in milliseconds. */
const CHECK_EVERY_MS = 2_000;
const ANSWER_MS = 3_000;

/** Asks a node for the leader; a single node that answers is its own leader. */
const leaderBy = async (client: NodeClient, settings: NodeSettings): Promise<NodeAddress | undefined> => {
  const channel = await client.getChannel();
  if (isCluster(settings)) return leaderOf([await callOnce(channel, Gossip.method.read, ANSWER_MS)]);
  await serverVersion(channel);
  return client.node;
};

/**
 * Checks a node periodically until it is left. A read that gets no answer fails, but does not leave the node, and
 * keep-alive does not end the connection of a node that answers pings but no calls.
 *
 * @param onLoss is called once when the node does not answer or is not the leader any more, with the leader that it
 * names, if any.
 */
export const watchNode = (client: NodeClient, settings: NodeSettings, onLoss: (leader?: NodeAddress) => void): void => {
  const check = async (): Promise<void> => {
    if (client.isAbandoned) return;
    try {
      const leader = await leaderBy(client, settings);
      if (leader?.host === client.node.host && leader.port === client.node.port) checkLater();
      else onLoss(leader);
    } catch {
      onLoss();
    }
  };
  const checkLater = (): void => void setTimeout(() => void check(), CHECK_EVERY_MS).unref();
  checkLater();
};
