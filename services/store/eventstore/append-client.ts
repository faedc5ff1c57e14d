import type { Appended } from '../../kernel/ports/event-store.js';
import { isConnectionLost } from './eventstore-fault.js';
import type { Connection } from './nodes/connection.js';
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
 * In milliseconds: a node that has appends in flight and answers none of them for this time is left, because it may be
 * cut off from the other nodes.
 */
const SILENT_MS = 4_000;

/**
 * Makes a client that appends over the given connection, and leaves the present node when an append fails because of
 * the connection.
 *
 * Appends go over at most one node connection at a time: after it breaks, nothing is sent until all appends on it have
 * failed. Reads need a separate connection, so that their failures do not break the one of appends.
 */
export const appendClient = (connection: Connection): AppendClient => {
  let emptying: Promise<unknown> | undefined;
  let silence: NodeJS.Timeout | undefined;
  const inFlight = new Set<Promise<unknown>>();
  const known = new WeakMap<NodeClient, BatchAppends>();

  const empty = async (): Promise<void> => {
    await Promise.allSettled(inFlight);
    emptying = undefined;
  };

  const node = async (): Promise<NodeClient> => {
    for (;;) {
      await emptying;
      const client = await connection.client();
      if (emptying === undefined) return client;
    }
  };

  const appendsOver = (client: NodeClient): BatchAppends => {
    const appends = known.get(client) ?? batchAppends(client);
    known.set(client, appends);
    return appends;
  };

  /** Restarts the timer for the next answer, if appends are in flight. */
  const listen = (client: NodeClient): void => {
    clearTimeout(silence);
    if (inFlight.size > 0) silence = setTimeout(() => connection.leave(client), SILENT_MS);
  };

  const attempt: SendAppend = async (message) => {
    const client = await node();
    const sent = appendsOver(client).append(message);
    inFlight.add(sent);
    if (inFlight.size === 1) listen(client);
    try {
      return await sent;
    } catch (error) {
      inFlight.delete(sent);
      if (isConnectionLost(error)) {
        connection.leave(client);
        emptying ??= empty();
      }
      throw error;
    } finally {
      inFlight.delete(sent);
      listen(client);
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
