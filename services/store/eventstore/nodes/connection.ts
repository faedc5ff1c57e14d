import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from '../../../kernel/fault.js';
import type { Endpoint } from '../address.js';
import { finalFault, NodeUnreached } from '../eventstore-fault.js';
import { nodeToCall } from './discovery.js';
import { NodeClient } from './node-client.js';
import { nodeLoss } from './node-loss.js';
import { serverVersion } from './server-version.js';
import type { NodeSettings } from './settings.js';
import { watchNode } from './watch-node.js';

/** The way to whichever node calls go to at present. */
export interface Connection {
  /**
   * The client of that node, to be asked for before each call. Where there is no node it is looked for until there is
   * one, however long; callers wait for it for two seconds from when it was lost.
   *
   * @throws {NodeUnreached} when there is none; nothing can have been sent.
   * @throws {Fault} when a node refuses for good.
   */
  client(): Promise<NodeClient>;
  /** Leaves a node that does not answer; what is open there fails. Nothing where it was left before. */
  leave(client: NodeClient): void;
  close(): Promise<void>;
}

/** How long callers wait for a node after one was lost. */
const PATIENCE_MS = 2_000;

/** What is known while a node is looked for. */
type Search = { readonly sinceMs: number; round: Promise<NodeClient>; trouble?: unknown };

/** Ends the patience of a caller, once there is something to say. */
const throwAfter = (patienceMs: number, { sinceMs, trouble }: Search): void => {
  if (trouble === undefined || performance.now() - sinceMs < patienceMs) return;
  throw finalFault(trouble) ?? new NodeUnreached(trouble);
};

type OnLoss = (client: NodeClient, leader?: Endpoint) => void;

/** A client of a node that has answered. */
const connected = async (node: Endpoint, settings: NodeSettings, onLoss: OnLoss): Promise<NodeClient> => {
  const client = new NodeClient(node, settings, (error) => {
    const loss = nodeLoss(error);
    if (loss) onLoss(client, loss.leader);
  });
  try {
    client.serverVersion = await serverVersion(await client.getChannel());
    return client;
  } catch (error) {
    client.leave();
    throw error;
  }
};

/**
 * Keeps a connection of its own to the node that leads: it is left when a call shows that it cannot serve, or names
 * another leader, and the next one is looked for at once.
 */
export const nodeConnection = (settings: NodeSettings): Connection => {
  const ending = new AbortController();
  let present: NodeClient | undefined;
  let search: Search | undefined;
  let named: Endpoint | undefined;
  let patienceMs = 0;

  const lose = (client: NodeClient, leader?: Endpoint): void => {
    if (client !== present) return;
    present = undefined;
    named = leader;
    client.leave();
    if (!ending.signal.aborted) search = begin();
  };
  const connect = async (): Promise<NodeClient> => {
    const node = named ?? (await nodeToCall(settings));
    named = undefined;
    const client = await connected(node, settings, lose);
    if (ending.signal.aborted) client.leave();
    return client;
  };
  const next = (pauseMs: number, looked: Omit<Search, 'round'>): Search => {
    const round = pause(pauseMs, undefined, { signal: ending.signal }).then(connect);
    const going: Search = { ...looked, round };
    round.then(
      (client) => {
        present = client;
        search = undefined;
        patienceMs = PATIENCE_MS;
        client.onDisconnect(() => lose(client));
        watchNode(client, settings, (leader) => lose(client, leader));
      },
      (trouble: unknown) => {
        if (!ending.signal.aborted) search = next(settings.discoveryIntervalMs, { sinceMs: looked.sinceMs, trouble });
      },
    );
    return going;
  };
  const begin = (): Search => next(0, { sinceMs: performance.now() });

  return {
    client: async () => {
      while (present === undefined) {
        search ??= begin();
        if (ending.signal.aborted) throw new StoreUnavailable('the event store is closed');
        throwAfter(patienceMs, search);
        await search.round.catch(() => undefined); // what came of it is in the next one
      }
      return present;
    },
    leave: lose,
    close: async () => {
      ending.abort();
      await search?.round.catch(() => undefined);
      await present?.dispose();
      present?.leave();
    },
  };
};
