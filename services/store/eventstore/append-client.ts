import { setImmediate as turn } from 'node:timers/promises';
import {
  type BinaryEventData,
  type AppendResult,
  type EventStoreDBClient,
  type AppendToStreamOptions,
} from '@eventstore/db-client';
import { isConnectionLost, isSentToLeader } from './eventstore-fault.js';

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
 * Appends over a client of its own, which is replaced when its connection is lost.
 *
 * The library keeps who waits for an answer in one table for all its clients and connections, empties it when any of
 * them breaks, and dies of an answer that it finds nobody for. So at most one connection appends at a time: when it
 * breaks, nothing is sent until everything on it has failed and it is gone. Reads have a client of their own, whose
 * troubles would replace this one's connection otherwise.
 */
export const appendClient = (open: () => EventStoreDBClient): AppendClient => {
  let client = open();
  let renewing: Promise<void> | undefined;
  const inFlight = new Set<Promise<unknown>>();

  const replace = async (): Promise<void> => {
    await client.dispose();
    client = open();
  };

  const renew = async (error: unknown): Promise<void> => {
    await Promise.allSettled(inFlight);
    await (isSentToLeader(error) ? turn() : replace());
    renewing = undefined;
  };

  const attempt = async (...[stream, events, options]: Parameters<SendAppend>): Promise<AppendResult> => {
    const sent = client.appendToStream(stream, events, options);
    inFlight.add(sent);
    try {
      return await sent;
    } catch (error) {
      inFlight.delete(sent);
      if (isConnectionLost(error)) renewing ??= renew(error);
      throw error;
    } finally {
      inFlight.delete(sent);
    }
  };

  return {
    send: async (...given) => {
      while (renewing !== undefined) await renewing;
      return attempt(...given);
    },
    close: async () => {
      await Promise.allSettled(inFlight);
      await renewing;
      await client.dispose();
    },
  };
};
