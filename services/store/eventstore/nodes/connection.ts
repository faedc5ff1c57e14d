import { setTimeout as pause } from 'node:timers/promises';

import { convertToCommandError, ErrorType, NotLeaderError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';

import { StoreUnavailable } from '../../../kernel/fault.js';
import type { NodeAddress } from '../address.js';
import { NodeUnreached, permanentFault } from '../eventstore-fault.js';
import { nodeToCall } from './discovery.js';
import { NodeClient } from './node-client.js';
import { serverVersion } from './server-version.js';
import type { NodeSettings } from './settings.js';
import { watchNode } from './watch-node.js';

/** Errors which mean that the node or its connection cannot serve; so does the status INTERNAL. */
const NODE_ERRORS: readonly unknown[] = [ErrorType.UNAVAILABLE, ErrorType.CANCELLED, ErrorType.NOT_LEADER];

/** The finding that a node cannot serve, with the new leader if the node names it. */
type NodeLoss = { readonly leader?: NodeAddress };

/** @returns `undefined` when the error does not mean that the node is lost. */
const nodeLoss = (error: unknown): NodeLoss | undefined => {
  const known = error instanceof Error ? convertToCommandError(error) : undefined;
  if (known instanceof NotLeaderError) return { leader: { host: known.leader.address, port: known.leader.port } };
  const { type, code } = (known ?? {}) as { readonly type?: unknown; readonly code?: unknown };
  return NODE_ERRORS.includes(type) || code === status.INTERNAL ? {} : undefined;
};

/** The connection to the node that calls go to at present. */
export interface NodeConnection {
  /**
   * Returns the client of that node; callers ask for it before each call. While there is no node, the search goes on
   * without limit. Once an attempt to find one has failed, callers are refused: at once before the first connection,
   * and from two seconds after the loss of a node. Until then they wait.
   *
   * @throws {NodeUnreached} when there is none; nothing was sent.
   * @throws {Fault} when a node refuses permanently, or when there is none after `close`.
   */
  client(): Promise<NodeClient>;
  /** Abandons a node that does not answer; its open calls fail. Does nothing when the node was abandoned before. */
  abandon(client: NodeClient): void;
  close(): Promise<void>;
}

/** The time after the loss of a node from which callers are refused while none is found, in milliseconds. */
const WAIT_AFTER_LOSS_MS = 2_000;

/** The state of a search for a node. */
type Search = { readonly sinceMs: number; round: Promise<NodeClient>; failure?: unknown };

/** Throws when an attempt of the search has failed and the search began `waitMs` ago or earlier. */
const throwAfter = (waitMs: number, { sinceMs, failure }: Search): void => {
  if (failure === undefined || performance.now() - sinceMs < waitMs) return;
  throw permanentFault(failure) ?? new NodeUnreached(failure);
};

type OnLoss = (client: NodeClient, leader?: NodeAddress) => void;

/** Makes a client of a node, after the node has answered a first call. */
const connected = async (node: NodeAddress, settings: NodeSettings, onLoss: OnLoss): Promise<NodeClient> => {
  const client = new NodeClient(node, settings, (error) => {
    const loss = nodeLoss(error);
    if (loss) onLoss(client, loss.leader);
  });
  try {
    client.serverVersion = await serverVersion(await client.getChannel());
    return client;
  } catch (error) {
    client.abandon();
    throw error;
  }
};

/**
 * Keeps a connection to the leader. When its connection ends, or when a call, one of `watchNode` among them, shows that
 * the node cannot serve or names another leader, the node is left, and the search for the next one begins at once.
 */
export const nodeConnection = (settings: NodeSettings): NodeConnection => {
  const ending = new AbortController();
  let present: NodeClient | undefined;
  let search: Search | undefined;
  let named: NodeAddress | undefined;
  let waitMs = 0;

  const lose = (client: NodeClient, leader?: NodeAddress): void => {
    if (client !== present) return;
    present = undefined;
    named = leader;
    client.abandon();
    if (!ending.signal.aborted) search = begin();
  };
  const connect = async (): Promise<NodeClient> => {
    const node = named ?? (await nodeToCall(settings));
    named = undefined;
    const client = await connected(node, settings, lose);
    if (ending.signal.aborted) client.abandon();
    return client;
  };
  const next = (pauseMs: number, searched: Omit<Search, 'round'>): Search => {
    const round = pause(pauseMs, undefined, { signal: ending.signal }).then(connect);
    const going: Search = { ...searched, round };
    round.then(
      (client) => {
        present = client;
        search = undefined;
        waitMs = WAIT_AFTER_LOSS_MS;
        client.onDisconnect(() => lose(client));
        watchNode(client, settings, (leader) => lose(client, leader));
      },
      (failure: unknown) => {
        if (!ending.signal.aborted) search = next(settings.discoveryIntervalMs, { sinceMs: searched.sinceMs, failure });
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
        throwAfter(waitMs, search);
        await search.round.catch(() => undefined); // `search` has the error in the next turn
      }
      return present;
    },
    abandon: lose,
    close: async () => {
      ending.abort();
      await search?.round.catch(() => undefined);
      await present?.dispose();
      present?.abandon();
    },
  };
};
