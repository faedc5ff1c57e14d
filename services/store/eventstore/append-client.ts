import type { Appended } from '../../kernel/ports/event-store.js';
import { isConnectionLost } from './eventstore-fault.js';
import type { NodeConnection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';
import type { AppendMessage } from './wire/append-request.js';
import { type BatchAppends, batchAppends } from './wire/batch-appends.js';

/** Sends an append, without retries. */
export type SendAppend = (message: AppendMessage) => Promise<Appended>;

/** A client that only appends. */
export interface AppendClient {
  readonly send: SendAppend;
  close(): Promise<void>;
}

/**
 * Time in milliseconds after which a node is abandoned when it has appends in flight and answers none of them: it may
 * be cut off from the other nodes.
 */
const SILENT_MS = 4_000;

/**
 * Makes a client that appends over the given connection. It abandons the current node when an append fails because the
 * connection is lost or the node accepts no appends, and when the node is silent for {@link SILENT_MS}.
 *
 * Appends go over at most one node connection at a time: after it breaks, nothing is sent until all appends on it have
 * ended. Reads need a separate connection, so that their failures do not end the connection of appends.
 */
export const appendClient = (connection: NodeConnection): AppendClient => {
  let draining: Promise<unknown> | undefined;
  let silenceTimer: NodeJS.Timeout | undefined;
  const inFlight = new Set<Promise<unknown>>();
  const known = new WeakMap<NodeClient, BatchAppends>();

  const drain = async (): Promise<void> => {
    await Promise.allSettled(inFlight);
    draining = undefined;
  };

  const node = async (): Promise<NodeClient> => {
    for (;;) {
      await draining;
      const client = await connection.client();
      if (draining === undefined) return client;
    }
  };

  const appendsOver = (client: NodeClient): BatchAppends => {
    const appends = known.get(client) ?? batchAppends(client);
    known.set(client, appends);
    return appends;
  };

  /** Restarts the timer for the next answer, if appends are in flight. */
  const restartSilenceTimer = (client: NodeClient): void => {
    clearTimeout(silenceTimer);
    if (inFlight.size > 0) silenceTimer = setTimeout(() => connection.abandon(client), SILENT_MS);
  };

  const attempt: SendAppend = async (message) => {
    const client = await node();
    const sent = appendsOver(client).append(message);
    inFlight.add(sent);
    if (inFlight.size === 1) restartSilenceTimer(client);
    try {
      return await sent;
    } catch (error) {
      inFlight.delete(sent);
      if (isConnectionLost(error)) {
        connection.abandon(client);
        draining ??= drain();
      }
      throw error;
    } finally {
      inFlight.delete(sent);
      restartSilenceTimer(client);
    }
  };

  return {
    send: attempt,
    close: async () => {
      await Promise.allSettled(inFlight);
      await connection.close();
    },
  };
};
