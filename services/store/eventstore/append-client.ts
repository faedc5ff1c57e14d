import type { Appended } from '../../kernel/ports/event-store.js';
import { isConnectionLost } from './eventstore-fault.js';
import type { Connection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';
import type { AppendMessage } from './wire/append-request.js';
import { type BatchAppends, batchAppends } from './wire/batch-appends.js';

/** Sends an append once. */
export type SendAppend = (message: AppendMessage) => Promise<Appended>;

/** A client that does nothing but append. */
export interface AppendClient {
  readonly send: SendAppend;
  close(): Promise<void>;
}

/** A node that answers none of the appends that it has for so long is left: it may be cut off from the others. */
const SILENT_MS = 4_000;

/**
 * Appends over a connection of its own, which is left when an append fails for it.
 *
 * At most one connection appends at a time: when it breaks, nothing is sent until everything on it has failed and it is
 * gone. Reads have a connection of their own, whose troubles would break this one otherwise.
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

  /** Waits for the next answer, where one is due. */
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
