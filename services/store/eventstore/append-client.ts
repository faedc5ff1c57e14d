import type { BinaryEventData, AppendResult, AppendToStreamOptions } from '@eventstore/db-client';
import { isConnectionLost } from './eventstore-fault.js';
import type { Connection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';

/** The client's own way to append. */
export type SendAppend = (
  stream: string,
  events: BinaryEventData[],
  options: AppendToStreamOptions,
) => Promise<AppendResult>;

/** A client that does nothing but append. */
export interface AppendClient {
  readonly send: SendAppend;
  close(): Promise<void>;
}

/**
 * Appends over a connection of its own, which is left when an append fails for it.
 *
 * The library keeps who waits for an answer in one table for all its clients and connections, empties it when any of
 * them breaks, and dies of an answer that it finds nobody for. So at most one connection appends at a time: when it
 * breaks, nothing is sent until everything on it has failed and it is gone. Reads have a connection of their own, whose
 * troubles would break this one otherwise.
 */
export const appendClient = (connection: Connection): AppendClient => {
  let emptying: Promise<unknown> | undefined;
  const inFlight = new Set<Promise<unknown>>();

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

  const attempt = async (...[stream, events, options]: Parameters<SendAppend>): Promise<AppendResult> => {
    const client = await node();
    const sent = client.appendToStream(stream, events, options);
    inFlight.add(sent);
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
