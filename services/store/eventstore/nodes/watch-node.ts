import { Gossip } from '../../../../proto/gen/event_store/client/gossip_pb.js';
import type { Endpoint } from '../address.js';
import { ask } from './channel.js';
import { isCluster } from './discovery.js';
import { leaderOf } from './leader.js';
import type { NodeClient } from './node-client.js';
import { serverVersion } from './server-version.js';
import type { NodeSettings } from './settings.js';

/** Between two questions, and how long an answer may take. */
const ASK_EVERY_MS = 2_000;
const ANSWER_MS = 3_000;

/** The node that leads, by what this one says; one that is alone does. */
const leaderBy = async (client: NodeClient, settings: NodeSettings): Promise<Endpoint | undefined> => {
  const channel = await client.getChannel();
  if (isCluster(settings)) return leaderOf([await ask(channel, Gossip.method.read, ANSWER_MS)]);
  await serverVersion(channel);
  return client.node;
};

/**
 * Asks a node again and again, until it is left: reads have no deadline, and where a node answers pings and no calls,
 * no keep-alive ends its connection.
 *
 * @param onLoss hears once that it does not answer or leads no more, and which other node does where it says.
 */
export const watchNode = (client: NodeClient, settings: NodeSettings, onLoss: (leader?: Endpoint) => void): void => {
  const look = async (): Promise<void> => {
    if (client.isLeft) return;
    try {
      const leader = await leaderBy(client, settings);
      if (leader?.host === client.node.host && leader.port === client.node.port) lookLater();
      else onLoss(leader);
    } catch {
      onLoss();
    }
  };
  const lookLater = (): void => void setTimeout(() => void look(), ASK_EVERY_MS).unref();
  lookLater();
};
