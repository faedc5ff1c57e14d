import { setTimeout as pause } from 'node:timers/promises';
import type { Appended, EventStore, Subscription } from '../../kernel/ports/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { checkAppend } from '../append-check.js';
import { appendClient } from './append-client.js';
import { appender, appenderInOrder } from './appender.js';
import { deniedAppends } from './denied-appends.js';
import { finalFault, readFault } from './eventstore-fault.js';
import { liveFeed } from './live-feed.js';
import { logIdentity, renewIdentity } from './log-identity.js';
import { readLogUpTo, readStream } from './log-reads.js';
import { type Connection, nodeConnection } from './nodes/connection.js';
import { assertNewEnough } from './nodes/server-version.js';
import { nodeSettings } from './nodes/settings.js';
import { headOf, readLogBackwards } from './read-backwards.js';
import { subscribe } from './subscription.js';

/** Where the event store is, and who hears when it cannot be reached. */
export type EventstoreOptions = {
  /** A connection string: `esdb://…`, `esdb+discover://…` or one of KurrentDB's. */
  readonly url: string;
  /** The log is refused where this user may not append to it. */
  readonly writes?: boolean;
  /**
   * Whether an append that fails without an answer is sent again, and those of one stream wait for each other; by
   * default so. Without it, appends reach the server in the order in which they are given, whatever their streams are.
   */
  readonly retries?: boolean;
  readonly onTrouble?: (error: unknown) => void;
  /** Hears that the server has dropped the live subscription because this process was busy; it goes on at once. */
  readonly onDrop?: () => void;
  /**
   * Called while it is waited for at the start, with what went wrong, or with nothing while there is no answer. What it
   * throws ends the waiting.
   */
  readonly onWait?: (error?: unknown) => Promise<void>;
};

/** A log whose server may deny what is asked. */
export interface EventStoreOfServer extends EventStore {
  /** Why appends are denied at present: from the first that was to the next that is not. */
  denied(): string | undefined;
}

type OnWait = NonNullable<EventstoreOptions['onWait']>;

/** A call that has no answer for so long is a sign that nobody answers. */
const SILENCE_MS = 3_000;
const MAX_PAUSE_MS = 3_000;

const unlessRefused = async <Result>(work: Promise<Result>, onWait: OnWait): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  const refused = new Promise<never>((_, reject) => {
    const look = (): void => void onWait().then(() => timer?.refresh(), reject);
    timer = setTimeout(look, SILENCE_MS);
  });
  try {
    return await Promise.race([work, refused]);
  } finally {
    clearTimeout(timer);
    timer = undefined;
  }
};

/** A stream of those that only a control plane writes. Nothing is appended to it. */
const PROBED_STREAM = 'project-probe';

/** The identity of the log, once it can be read, and written where it is to be. */
const openedLog = async (connection: Connection, writes: boolean): Promise<string> => {
  const client = await connection.client();
  const { serverVersion: version } = client;
  if (version !== undefined) assertNewEnough(version);
  const logId = await logIdentity(client); // shows whether one that says no version is an event store
  assertNewEnough(version);
  if (writes) await client.appendToStream(PROBED_STREAM, []);
  return logId;
};

const connected = async (connection: Connection, writes: boolean, onWait: OnWait): Promise<string> => {
  for (let times = 0; ; times += 1) {
    try {
      return await unlessRefused(openedLog(connection, writes), onWait);
    } catch (error) {
      const fault = finalFault(error);
      if (fault) throw fault;
      await onWait(error);
      await pause(Math.min(250 * 2 ** times, MAX_PAUSE_MS));
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
 * @throws {StoreUnavailable} when it refuses: wrong credentials, say; or when the connection string is none.
 */
export const eventstoreEventStore = async ({
  url,
  writes = false,
  retries = true,
  onTrouble = () => undefined,
  onDrop = () => undefined,
  onWait = (error) => {
    onTrouble(error);
    return Promise.resolve();
  },
}: EventstoreOptions): Promise<EventStoreOfServer> => {
  const settings = nodeSettings(url);
  const reads = nodeConnection(settings);
  const logId = await connected(reads, writes, onWait).catch(async (error: unknown) => {
    await reads.close();
    throw error;
  });
  const appends = (retries ? appender : appenderInOrder)(appendClient(nodeConnection(settings)));
  const denied = deniedAppends(async () => (await reads.client()).appendToStream(PROBED_STREAM, []));
  const feed = liveFeed(reads, { onTrouble, onDrop });
  const subscriptions = new Set<Subscription>();
  let isClosed = false;
  const head = () => throwing(headOf(reads));

  return {
    logId,
    head,
    readStream: (stream, options) => readStream(reads, stream, options),
    readLogBackwards: (options) => readLogBackwards(reads, options),
    async *readLog(options) {
      yield* readLogUpTo(reads, options, await head());
    },
    subscribe: (options, onPage) => {
      const read = (asked: typeof options, upTo: bigint) => readLogUpTo(reads, asked, upTo);
      const subscription = subscribe({ head, read, feed, onTrouble }, options, onPage);
      const forget = (): boolean => subscriptions.delete(subscription);
      subscriptions.add(subscription);
      subscription.ended.then(forget, forget);
      return subscription;
    },
    append: async (stream, expected, events): Promise<Appended> => {
      checkAppend(stream, expected, events);
      if (isClosed) throw new StoreUnavailable('the event store is closed');
      return denied.noted(appends.append({ stream, expected, events }));
    },
    denied: () => denied.why(),
    close: async () => {
      isClosed = true;
      denied.close();
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      await appends.close();
      await feed.close();
      await reads.close();
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
  const connection = nodeConnection(nodeSettings(url));
  try {
    return await throwing(connection.client().then(renewIdentity));
  } finally {
    await connection.close();
  }
};
