import { setImmediate } from 'node:timers/promises';
import type { EventLog, LogPage, ReadLogOptions, ReadStreamOptions, Subscription } from '../kernel/event-store.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { StreamName } from '../kernel/stream.js';
import { headInMemory, headOfFile } from './log-head.js';
import { logPath, openForReading } from './log-schema.js';
import { logRows, PAGE_ROWS } from './log-rows.js';
import { openFault, readFault } from './sqlite-fault.js';
import { subscribeTo } from './subscription.js';

/** What a reader on another thread is given, to be woken by the writer of its process. Can be sent to any thread. */
export type LogReaderSource = { readonly head: SharedArrayBuffer };

/** Where the log is; without a source it may be written by another process. */
export type LogReaderOptions = { readonly directory: string; readonly source?: LogReaderSource };

/** Revisions and positions beyond what a number holds exactly are beyond every log too. */
const numberOf = (place: bigint): number =>
  Number(place > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : place);

const opened = (path: string): ReturnType<typeof openForReading> => {
  try {
    return openForReading(path);
  } catch (error) {
    throw openFault(path, error);
  }
};

const readerOf = ({ directory, source }: LogReaderOptions): EventLog => {
  const path = logPath(directory);
  const { db, logId } = opened(path);
  const reading = <Result>(read: () => Result): Result => {
    try {
      return read();
    } catch (error) {
      throw readFault(path, error);
    }
  };
  const rows = logRows(db);
  const headNow = (): number => reading(rows.head);
  const head = source ? headInMemory(source.head) : headOfFile(path, headNow);
  const subscriptions = new Set<Subscription>();

  async function* readStream(
    stream: StreamName,
    { from, direction = 'forwards', limit = Infinity }: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const step = direction === 'forwards' ? 1 : -1;
    let next = from === undefined ? (step > 0 ? 0 : Number.MAX_SAFE_INTEGER) : numberOf(from);
    for (let left = limit; left > 0; await setImmediate()) {
      const size = Math.min(PAGE_ROWS, left);
      const page = reading(() => rows.streamPage(stream, next, direction, size));
      if (page.length > 0) yield page;
      if (page.length < size) return;
      next = Number(page.at(-1)?.revision) + step;
      left -= page.length;
    }
  }

  async function* readLog({ after, filter, limit = Infinity }: ReadLogOptions): AsyncGenerator<LogPage> {
    const upTo = head.position();
    let position = numberOf(after);
    for (let left = limit; left > 0 && position < upTo; await setImmediate()) {
      const range = { after: position, upTo };
      const page = reading(() => rows.logPage(range, filter, Math.min(PAGE_ROWS, left)));
      yield page;
      position = Number(page.position);
      left -= page.events.length;
    }
  }

  return {
    logId,
    readStream,
    readLog,
    head: () => Promise.resolve(BigInt(head.position())),
    subscribe: ({ after, filter }, onPage) => {
      const page = (from: number, upTo: number): LogPage =>
        reading(() => rows.logPage({ after: from, upTo }, filter, PAGE_ROWS));
      const subscription = subscribeTo(head, page, numberOf(after), onPage);
      subscriptions.add(subscription);
      const forget = (): boolean => subscriptions.delete(subscription);
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
 * Opens the log of a data directory to be read, from any thread or process.
 *
 * @throws {DataDirectoryUnusable} when there is no log, or one that cannot be read.
 */
export const sqliteLogReader = (options: LogReaderOptions): Promise<EventLog> =>
  new Promise((resolve) => resolve(readerOf(options)));
