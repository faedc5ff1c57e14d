import type { EventFilter, EventLog, LogPage, ReadLogOptions, Subscription } from '../../kernel/ports/event-store.js';
import { headFor, headInMemory, headOfFile, kindHeadsIn, type LogHeads } from './head.js';
import { logPages, cappedNumber, pagesBefore, streamPages } from './pages.js';
import { logRows, PAGE_ROWS, type LogRows } from './rows.js';
import { logPath, openForReading } from './schema.js';
import { openFault, sqliteReadFault } from './sqlite-fault.js';
import { subscribeTo } from './subscription.js';

/** Lets a reader be woken by the writer of its process. Can be sent to any thread. */
export type LogReaderSource = { readonly head: SharedArrayBuffer };

/** Location of the log; without a source the writer may be another process. */
export type LogReaderOptions = { readonly directory: string; readonly source?: LogReaderSource };

const throwing = <Result>(fault: (error: unknown) => Error, work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    throw fault(error);
  }
};

/** Converts errors of the SQLite binding into faults. */
const faulty = (rows: LogRows, path: string): LogRows => {
  const fault = (error: unknown): Error => sqliteReadFault(path, error);
  return {
    head: () => throwing(fault, () => rows.head()),
    streamPage: (...parameters) => throwing(fault, () => rows.streamPage(...parameters)),
    logPage: (...parameters) => throwing(fault, () => rows.logPage(...parameters)),
    wantsHot: (filter) => throwing(fault, () => rows.wantsHot(filter)),
    pageBefore: (...parameters) => throwing(fault, () => rows.pageBefore(...parameters)),
  };
};

/**
 * True when commits of hot events alone (reports of engines) concern the reader of a filter. Also true if the log
 * cannot be read: the read that follows fails with the same error, and reports it.
 */
const wantsHot = (rows: LogRows, filter: EventFilter): boolean => {
  try {
    return rows.wantsHot(filter);
  } catch {
    return true;
  }
};

/** Reads begin after a position; one that is to include an event begins after the number before its position. */
const startOf = ({ after, isInclusive }: Pick<ReadLogOptions, 'after' | 'isInclusive'>): bigint =>
  isInclusive === true && after > 0n ? after - 1n : after;

const readerOf = ({ directory, source }: LogReaderOptions): EventLog => {
  const path = logPath(directory);
  const { db, logId, copyOf } = throwing(
    (error) => openFault(path, error),
    () => openForReading(path),
  );
  const rows = faulty(logRows(db, source && kindHeadsIn(source.head)), path);
  const head: LogHeads = source ? headInMemory(source.head) : headOfFile(path, () => rows.head());
  const subscriptions = new Set<Subscription>();

  return {
    logId,
    copyOf,
    isLocal: true,
    readStream: (stream, options) => streamPages(rows, stream, options),
    readLog: (options) => logPages(rows, head.position(), { ...options, after: startOf(options) }),
    readLogBackwards: (options) => pagesBefore(rows, head.position(), options),
    head: () => new Promise((resolve) => resolve(BigInt(head.position()))),
    subscribe: ({ filter, ...options }, onPage) => {
      const page = (from: number, upTo: number): LogPage => rows.logPage({ after: from, upTo }, filter, PAGE_ROWS);
      const followed = filter ? headFor(head, () => wantsHot(rows, filter)) : head;
      const subscription = subscribeTo(followed, page, cappedNumber(startOf(options)), onPage);
      const forget = (): boolean => subscriptions.delete(subscription);
      subscriptions.add(subscription);
      subscription.ended.then(forget, forget);
      return subscription;
    },
    close: async () => {
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      if (db.isOpen) db.close();
    },
  };
};

/**
 * Opens the log of a data directory for reading, from any thread or process.
 *
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be read.
 */
export const sqliteLogReader = (options: LogReaderOptions): Promise<EventLog> =>
  new Promise((resolve) => resolve(readerOf(options)));
