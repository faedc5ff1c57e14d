import { setTimeout as pause } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Appended, EventStore, Subscription } from '../../kernel/ports/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { checkAppend } from '../append.js';
import { appendClient } from './append-client.js';
import { appender, appenderInOrder } from './appender.js';
import { deniedAppends } from './denied-appends.js';
import { permanentFault, readFault } from './eventstore-fault.js';
import { liveFeed } from './live-feed.js';
import { type LogIdentity, logIdentity, markCopy, renewIdentity, takeIdentityOver } from './log-identity.js';
import { readLogUpTo, readStream } from './log-reads.js';
import { type NodeConnection, nodeConnection } from './nodes/connection.js';
import { assertNewEnough } from './nodes/server-version.js';
import { nodeSettings } from './nodes/settings.js';
import { headOf, readLogBackwards } from './read-backwards.js';
import { subscribe } from './subscription.js';

/** The connection string, how events are appended, and callbacks about the availability of the event store. */
export type EventstoreOptions = {
  /** A connection string: `esdb://…`, `esdb+discover://…` or one of KurrentDB's. */
  readonly url: string;
  /** Requires at the start that the user may append to the log. */
  readonly writes?: boolean;
  /**
   * Retries an append that fails without an answer, or because the server is not ready or too busy, and sends the
   * appends of one stream one after another; the default. With `false`, all appends reach the server in call order,
   * over all streams.
   */
  readonly retries?: boolean;
  /** Is called with the reason each time a subscription breaks; it is retried. */
  readonly onFailure?: (error: unknown) => void;
  /** Is called when the live subscription has ended because this process was too slow to read it; it is reopened. */
  readonly onDrop?: () => void;
  /**
   * Is called while the start waits for the store: with the error of each failed attempt, and without argument while
   * an attempt has no answer. If it rejects with a fault, the start fails with it. By default `onFailure` is called.
   */
  readonly onWait?: (error?: unknown) => Promise<void>;
};

/** An event store on a server, which may deny appends. */
export interface EventStoreOfServer extends EventStore {
  /** Returns the reason for which the server denies appends; `undefined` while it does not. */
  denied(): string | undefined;
}

type OnWait = NonNullable<EventstoreOptions['onWait']>;

/** At the start, an attempt without an answer is reported after each such time, in milliseconds. */
const SILENCE_MS = 3_000;
/** After so many of these times an attempt has failed: a node may lose a call, and answer all others. */
const MAX_SILENCES = 3;
const MAX_PAUSE_MS = 3_000;

const unanswered = (): Error =>
  new Error(`the event store has not answered for ${(MAX_SILENCES * SILENCE_MS) / 1_000} s`);

/**
 * Waits for `work`, and calls `onWait` after each `SILENCE_MS` without a result. When `onWait` rejects, the wait ends
 * with that error; after {@link MAX_SILENCES} it fails.
 */
const unlessStopped = async <Result>(work: Promise<Result>, onWait: OnWait): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  let silences = 0;
  const stopped = new Promise<never>((_, reject) => {
    const onSilence = (): void => {
      silences += 1;
      if (silences >= MAX_SILENCES) reject(unanswered());
      else void onWait().then(() => timer?.refresh(), reject);
    };
    timer = setTimeout(onSilence, SILENCE_MS);
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    timer = undefined;
  }
};

/** A stream name of the kind that only the control plane writes, for appends without events that test permissions. */
const PROBED_STREAM = 'project-probe';

/**
 * Reads the identity of the log, and writes one if it has none; checks the server version and, with `writes`, the
 * permission to append.
 */
const openedLog = async (connection: NodeConnection, writes: boolean): Promise<LogIdentity> => {
  const client = await connection.client();
  const { serverVersion: version } = client;
  if (version !== undefined) assertNewEnough(version);
  // A server that reports no version may be no event store: then this fails, with an error that says more.
  const identity = await logIdentity(client);
  assertNewEnough(version);
  if (writes) await client.appendToStream(PROBED_STREAM, []);
  return identity;
};

const connected = async (connection: NodeConnection, writes: boolean, onWait: OnWait): Promise<LogIdentity> => {
  for (let times = 0; ; times += 1) {
    try {
      return await unlessStopped(openedLog(connection, writes), onWait);
    } catch (error) {
      const fault = permanentFault(error);
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
 * Opens the log in an EventStoreDB or KurrentDB. Waits while the server cannot be reached.
 *
 * @throws {StoreUnavailable} when waiting does not help, as for an invalid connection string, wrong credentials, a
 * server that is too old, or a log that a newer release has written.
 */
export const eventstoreEventStore = async ({
  url,
  writes = false,
  retries = true,
  onFailure = () => undefined,
  onDrop = () => undefined,
  onWait = (error) => {
    onFailure(error);
    return Promise.resolve();
  },
}: EventstoreOptions): Promise<EventStoreOfServer> => {
  const settings = nodeSettings(url);
  const reads = nodeConnection(settings);
  const identity = await connected(reads, writes, onWait).catch(async (error: unknown) => {
    await reads.close();
    throw error;
  });
  const appends = (retries ? appender : appenderInOrder)(appendClient(nodeConnection(settings)));
  const denied = deniedAppends(async () => (await reads.client()).appendToStream(PROBED_STREAM, []));
  const feed = liveFeed(reads, { onFailure, onDrop });
  const subscriptions = new Set<Subscription>();
  let isClosed = false;
  const head = () => throwing(headOf(reads));

  return {
    ...identity,
    head,
    readStream: (stream, options) => readStream(reads, stream, options),
    readLogBackwards: (options) => readLogBackwards(reads, options),
    async *readLog(options) {
      yield* readLogUpTo(reads, options, await head());
    },
    subscribe: (options, onPage) => {
      const read = (readOptions: typeof options, upTo: bigint) => readLogUpTo(reads, readOptions, upTo);
      const subscription = subscribe({ head, read, feed, onFailure }, options, onPage);
      const forget = (): boolean => subscriptions.delete(subscription);
      subscriptions.add(subscription);
      subscription.ended.then(forget, forget);
      return subscription;
    },
    append: async (stream, expected, events): Promise<Appended> => {
      const append = { stream, expected, events };
      checkAppend(append);
      if (isClosed) throw new StoreUnavailable('the event store is closed');
      return denied.noted(appends.append(append));
    },
    denied: () => denied.reason(),
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

const withClient = async <Result>(
  { url }: EventstoreOptions,
  work: (client: EventStoreDBClient) => Promise<Result>,
): Promise<Result> => {
  const connection = nodeConnection(nodeSettings(url));
  try {
    return await throwing(connection.client().then(work));
  } finally {
    await connection.close();
  }
};

/**
 * Gives the log in an event store a new identity, after a restore: position tokens issued before are then refused. No
 * other process may have the log open.
 *
 * @param isCopy true when the original log stays in use: this log is then a copy of it until it takes over.
 * @throws {StoreUnavailable} when the server cannot be reached, or refuses.
 */
export const renewEventstoreId = (
  options: EventstoreOptions,
  isCopy: boolean,
): Promise<{ before: string; after: string }> => withClient(options, (client) => renewIdentity(client, isCopy));

/**
 * Notes that the log in an event store is a copy of another: processes on it fire no schedules and send no
 * notifications until it takes over.
 *
 * @throws {StoreUnavailable} when the server cannot be reached, or refuses.
 */
export const markEventstoreCopy = (options: EventstoreOptions, original: string): Promise<void> =>
  withClient(options, (client) => markCopy(client, original));

/**
 * Notes that the log in an event store is no longer a copy.
 *
 * @returns its identity as it was before.
 *
 * @throws {StoreUnavailable} when the server cannot be reached, or refuses.
 */
export const takeEventstoreOver = (options: EventstoreOptions): Promise<LogIdentity> =>
  withClient(options, takeIdentityOver);
