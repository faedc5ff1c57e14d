import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { EventLog, EventStore } from '../../kernel/ports/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { EventstoreOptions, EventStoreOfServer } from '../../store/eventstore/eventstore-event-store.js';
import type { GroupCalls } from '../../store/eventstore/group-calls.js';
import { markLogCopy } from '../../store/log/identity.js';
import { assertLogNotLost, assertLogComplete } from '../../store/log/presence.js';
import type { OnCommit } from '../../store/log/append-queue.js';
import { sqliteEventStore } from '../../store/log/sqlite-event-store.js';
import { type LogReaderSource, sqliteLogReader } from '../../store/log/sqlite-log-reader.js';
import type { Configuration } from '../../config/configuration.js';
import { openLogger } from '../logger.js';
import { forSetting } from '../../config/operator-errors.js';
import { permanentProblem, failureLog } from './event-store-problem.js';

/** The location of the log, for a process or a thread that reads it. It can be sent to any thread. */
export type LogSource =
  | {
      readonly kind: 'embedded';
      readonly directory: string;
      /** Wakes readers when this process's writer has committed; without it, readers watch the file. */
      readonly woken?: LogReaderSource;
    }
  | { readonly kind: 'eventstore'; readonly url: string };

/** A log that this process writes to. */
export type WritableLog = {
  readonly store: EventStore;
  /** The source that threads of this process read the log from. */
  readonly source: LogSource;
  /** Why this process may not append at present; `undefined` when it may. */
  readonly denied: () => string | undefined;
  /** Rejects when appends have failed permanently. */
  readonly ended: Promise<unknown>;
};

type LogLocation = { readonly directory: string; readonly eventStore: string };

/** The value of `event_store` that names the data directory. */
const EMBEDDED = 'embedded:';

/** The source of the configured log, without the wake-up that a writer in this process gives. */
export const logSource = ({ directory, eventStore }: LogLocation): LogSource =>
  eventStore === EMBEDDED ? { kind: 'embedded', directory } : { kind: 'eventstore', url: eventStore };

/**
 * A problem counts as permanent when it is met this many times in a row: a node or a proxy that starts may cause it
 * once.
 */
const ENOUGH_TIMES = 3;

/**
 * Makes a function that the client calls while it waits for the event store: with each error, and without one while an
 * attempt has no answer. `report` logs it.
 *
 * @throws {StoreUnavailable} from that function, to end the wait, when the same permanent problem was met
 * {@link ENOUGH_TIMES} times in a row.
 */
const waitingFor = (report: (error: unknown) => void): ((error?: unknown) => Promise<void>) => {
  let met: string | undefined;
  let times = 0;
  return async (error) => {
    const problem = error instanceof Error ? permanentProblem(error) : undefined;
    times = problem !== undefined && problem === met ? times + 1 : 1;
    met = problem;
    if (problem !== undefined && times >= ENOUGH_TIMES) throw new StoreUnavailable(problem, error);
    report(error);
    await Promise.resolve();
  };
};

/** Opens an EventStoreDB, and loads its client library. */
const openEventstore = async (
  url: string,
  options: Pick<EventstoreOptions, 'writes' | 'retries'>,
  logger?: Logger,
  onDrop: () => void = () => undefined,
): Promise<EventStoreOfServer> => {
  const { eventstoreEventStore } = await import('../../store/eventstore/eventstore-event-store.js');
  if (!logger) return eventstoreEventStore({ url, ...options });
  const onFailure = failureLog(logger);
  return eventstoreEventStore({ url, ...options, onFailure, onDrop, onWait: waitingFor(onFailure) });
};

/**
 * Opens the log for reading; waits for an event store that cannot be reached.
 *
 * @param logger gets the reason of the wait; without it, the wait goes on also where TLS is set up wrongly, or another
 *   kind of server answers.
 * @throws {DataDirectoryUnusable} when there is no log in the data directory, or one that cannot be used.
 * @throws {StoreUnavailable} when the event store refuses.
 */
export const openLog = (source: LogSource, logger?: Logger): Promise<EventLog> => {
  if (source.kind === 'eventstore') return openEventstore(source.url, { writes: false }, logger);
  const { directory, woken } = source;
  return sqliteLogReader({ directory, ...(woken && { source: woken }) });
};

/** Opens calls about consumer groups to the event store that has the log, and loads its client library. */
export const openGroupCalls = async (url: string): Promise<GroupCalls> => {
  const { groupCalls } = await import('../../store/eventstore/group-calls.js');
  return groupCalls(url);
};

/**
 * Notes that a log is a copy of another.
 *
 * @throws {DataDirectoryUnusable} when the log of the data directory cannot be used.
 * @throws {StoreUnavailable} when the event store refuses.
 */
export const markCopyOf = async (source: LogSource, original: string): Promise<void> => {
  if (source.kind === 'embedded') markLogCopy(source.directory, original);
  else {
    const { markEventstoreCopy } = await import('../../store/eventstore/eventstore-event-store.js');
    await markEventstoreCopy(source, original);
  }
};

/**
 * Opens the log for writing; waits for an event store that cannot be reached.
 *
 * @param derived files that are projected from the log: where they exist and the log does not, the log was lost.
 * @param isCopying fills the log with a copy of another, so that it may be incomplete; false by default.
 * @param retries sends an append to an event store again when it fails without a refusal; true by default.
 * @throws {DataDirectoryUnusable} when the log of the data directory cannot be used.
 * @throws {StoreUnavailable} when the event store refuses.
 */
export const openWritableLog = async (
  { event_store: eventStore }: Pick<Configuration, 'event_store'>,
  {
    directory,
    derived,
    logger,
    isCopying = false,
    retries = true,
    onCommit,
    onDrop,
  }: {
    readonly directory: string;
    readonly derived: readonly string[];
    readonly logger: Logger;
    readonly isCopying?: boolean;
    readonly retries?: boolean;
    readonly onCommit?: OnCommit;
    readonly onDrop?: () => void;
  },
): Promise<WritableLog> => {
  const source = logSource({ directory, eventStore });
  if (source.kind === 'eventstore') {
    const store = await openEventstore(source.url, { writes: true, retries }, logger, onDrop);
    return { store, source, denied: () => store.denied(), ended: new Promise(() => undefined) };
  }
  assertLogNotLost(directory, derived);
  if (!isCopying) assertLogComplete(directory);
  const store = await sqliteEventStore({ directory, ...(onCommit && { onCommit }) });
  return { store, source: { ...source, woken: store.readerSource }, denied: () => undefined, ended: store.ended };
};

/** The setting that gives the location of the log. */
export const logKey = ({ event_store: eventStore }: Pick<Configuration, 'event_store'>): string =>
  eventStore === EMBEDDED ? 'data' : 'event_store';

/**
 * Opens the configured log for a command that reads it. Waits for an event store that cannot be reached, and logs that
 * it waits.
 *
 * @throws {OperatorError} when it cannot be used, naming the setting.
 */
export const openOwnLog = (configuration: Pick<Configuration, 'data' | 'event_store'>): Promise<EventLog> => {
  const { data, event_store: eventStore } = configuration;
  const source = logSource({ directory: resolve(data), eventStore });
  return forSetting(logKey(configuration), () => openLog(source, openLogger('warn')));
};
