import { setTimeout as pause } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import type { Appended, EventStore, Subscription } from '../../kernel/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { checkAppend } from '../append-check.js';
import { appendClient } from './append-client.js';
import { appender } from './appender.js';
import { finalFault, readFault } from './eventstore-fault.js';
import { liveFeed } from './live-feed.js';
import { logIdentity, renewIdentity } from './log-identity.js';
import { headOf, readLogBackwards, readLogUpTo, readStream } from './log-reads.js';
import { subscribe } from './subscription.js';

/** Where the event store is, and who hears when it cannot be reached. */
export type EventstoreOptions = {
  /** A connection string: `esdb://…`, `esdb+discover://…` or one of KurrentDB's. */
  readonly url: string;
  readonly onTrouble?: (error: unknown) => void;
};

const RETRY_MS = 1_000;

/** KurrentDB has the same protocol under another name. */
const connectionString = (url: string): string => url.replace(/^kurrentdb/u, 'esdb');

const connected = async (client: EventStoreDBClient, onTrouble: (error: unknown) => void): Promise<string> => {
  for (;;) {
    try {
      return await logIdentity(client);
    } catch (error) {
      const fault = finalFault(error);
      if (fault) throw fault;
      onTrouble(error);
      await pause(RETRY_MS);
    }
  }
};

const throwing = async <Result>(work: Promise<Result>): Promise<Result> => {
  try {
    return await work;
  } catch (error) {
    throw readFault(error);
  }
};

/**
 * The log in an EventStoreDB or KurrentDB. Waits for it as long as it cannot be reached.
 *
 * @throws {StoreUnavailable} when it refuses: wrong credentials, say.
 * @throws {TypeError} when the connection string is none.
 */
export const eventstoreEventStore = async ({
  url,
  onTrouble = () => undefined,
}: EventstoreOptions): Promise<EventStore> => {
  const open = (): EventStoreDBClient => EventStoreDBClient.connectionString(connectionString(url));
  const client = open();
  const logId = await connected(client, onTrouble);
  const appends = appender(appendClient(open));
  const feed = liveFeed(client, onTrouble);
  const subscriptions = new Set<Subscription>();
  let isClosed = false;
  const head = () => throwing(headOf(client));

  return {
    logId,
    head,
    readStream: (stream, options) => readStream(client, stream, options),
    readLogBackwards: (options) => readLogBackwards(client, options),
    async *readLog(options) {
      yield* readLogUpTo(client, options, await head());
    },
    subscribe: (options, onPage) => {
      const read = (asked: typeof options, upTo: bigint) => readLogUpTo(client, asked, upTo);
      const subscription = subscribe({ head, read, feed }, options, onPage);
      const forget = (): boolean => subscriptions.delete(subscription);
      subscriptions.add(subscription);
      subscription.ended.then(forget, forget);
      return subscription;
    },
    append: async (stream, expected, events): Promise<Appended> => {
      checkAppend(stream, expected, events);
      if (isClosed) throw new StoreUnavailable('the event store is closed');
      return appends.append({ stream, expected, events });
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      await appends.close();
      await feed.close();
      await client.dispose();
    },
  };
};

/**
 * Gives the log in an event store an identity of its own, for one that was restored: positions that were given out
 * before are then refused. Nobody else has the log open.
 *
 * @throws {StoreUnavailable} when it cannot be reached, or refuses.
 */
export const renewEventstoreId = async ({ url }: EventstoreOptions): Promise<{ before: string; after: string }> => {
  const client = EventStoreDBClient.connectionString(connectionString(url));
  try {
    return await throwing(renewIdentity(client));
  } finally {
    await client.dispose();
  }
};
