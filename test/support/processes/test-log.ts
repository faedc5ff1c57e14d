import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { eventstoreEventStore } from '../../../services/store/eventstore/eventstore-event-store.js';
import { sqliteLogReader } from '../../../services/store/log/sqlite-log-reader.js';
import { startLogServer } from './log-server.js';
import { eventStoreCommand, type OtherEventStore, startOtherEventStore } from '../servers/other-event-store.js';

/**
 * True when the logs of servers under test are in event stores, one for each data directory: log servers, or the
 * servers that FLIGHTLOG_TEST_EVENTSTORE_COMMAND starts. Otherwise the logs are in the data directories.
 */
const isOnEventstore = process.env['FLIGHTLOG_TEST_LOG'] === 'eventstore' || eventStoreCommand !== undefined;

/**
 * True when a test has to be skipped because it acts on the writer of the embedded log, and the logs are in event
 * stores.
 */
export const isWithoutWriter = isOnEventstore;

type TestLog = { readonly directory: string; readonly server: Promise<OtherEventStore>; url?: string };

const logs = new Map<string, TestLog>();

/** The log server of a data directory, which is started at the first use. */
const opened = (data: string): TestLog => {
  const known = logs.get(data);
  if (known !== undefined) return known;
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-log-of-'));
  const server =
    eventStoreCommand === undefined ? startLogServer(directory) : startOtherEventStore(eventStoreCommand, directory);
  const log: TestLog = { directory, server };
  logs.set(data, log);
  return log;
};

/**
 * The flags for a log in an event store; none where logs are in the data directories, or `args` name a log. Every data
 * directory has a server of its own, which keeps running when a process on that directory is killed.
 */
export const eventStoreFlags = async (data: string, args: readonly string[] = []): Promise<readonly string[]> => {
  if (!isOnEventstore || args.includes('--event-store')) return [];
  const log = opened(data);
  log.url = `esdb://${(await log.server).address}?tls=false`;
  return ['--event-store', log.url];
};

/** The log of a data directory that a server has served, as environment variables for a command on that directory. */
export const eventStoreEnvironment = (data: string): Readonly<Record<string, string>> => {
  const { url } = logs.get(data) ?? {};
  return url === undefined ? {} : { FLIGHTLOG_EVENT_STORE: url };
};

/** The directory of the log file that belongs to a data directory. */
export const logDirectory = (data: string): string => logs.get(data)?.directory ?? data;

/**
 * Opens the log that belongs to a data directory for reading, from its file or from its event store; the caller closes
 * it.
 */
export const openTestLog = (data: string): Promise<EventLog> => {
  const { url } = logs.get(data) ?? {};
  if (eventStoreCommand === undefined || url === undefined) return sqliteLogReader({ directory: logDirectory(data) });
  return eventstoreEventStore({ url });
};

/** Ends the log servers of a test file, and removes their logs. */
export const stopTestLogs = async (): Promise<void> => {
  for (const { directory, server } of logs.values()) {
    await (await server).kill();
    rmSync(directory, { recursive: true });
  }
  logs.clear();
};
