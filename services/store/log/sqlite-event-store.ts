import { Worker } from 'node:worker_threads';
import type { Appended, EventStore } from '../../kernel/ports/event-store.js';
import { checkAppend } from '../append-check.js';
import { appendQueue, type OnCommit } from './append-queue.js';
import { publishedTimes, sharedHead } from './head.js';
import { logPath, type Synchronous } from './schema.js';
import { sqliteLogReader, type LogReaderSource } from './sqlite-log-reader.js';
import type { WriterSettings } from './writer-messages.js';

/** What engines report, in every format of the log. */
const HOT_TYPES = ['WorkflowPhaseReported', 'NodePhaseReported', 'TaskPhaseReported', 'EngineReported'];

/** Where the embedded log is, and how it is kept. */
export type SqliteEventStoreOptions = {
  /** Exists, and is locked by this process. */
  readonly directory: string;
  /** The types that make up the bulk of the log; a filter on others needs no walk over it. */
  readonly hotTypes?: readonly string[];
  /** `OFF` is for the test that shows what `FULL` is good for. */
  readonly synchronous?: Synchronous;
  readonly onCommit?: OnCommit;
};

/** The embedded log, with what its readers on other threads are given. */
export type SqliteEventStore = EventStore & {
  readonly readerSource: LogReaderSource;
  /** Resolves when it has been closed; rejects when the writer has ended by itself: nothing can be recorded then. */
  readonly ended: Promise<void>;
  /** Transactions since it was opened. */
  commits(): number;
};

/**
 * Opens the log of a data directory, and makes it where there is none. Commits happen on a thread of its own.
 *
 * @throws {DataDirectoryUnusable} when the log cannot be used; it is left as it is then.
 */
export const sqliteEventStore = async (options: SqliteEventStoreOptions): Promise<SqliteEventStore> => {
  const { directory, hotTypes = HOT_TYPES, synchronous = 'FULL', onCommit } = options;
  const head = sharedHead();
  const settings: WriterSettings = { path: logPath(directory), synchronous, hotTypes, head };
  const queue = appendQueue(
    new Worker(new URL('./writer-thread.js', import.meta.url), { workerData: settings }),
    onCommit,
  );
  await queue.ready;
  const readerSource: LogReaderSource = { head };
  const reader = await sqliteLogReader({ directory, source: readerSource });

  return {
    ...reader,
    readerSource,
    ended: queue.ended,
    commits: () => publishedTimes(head) - 1,
    append: (stream, expected, events): Promise<Appended> =>
      new Promise((resolve, reject) => {
        checkAppend(stream, expected, events);
        queue.add({ append: { stream, expected, events }, resolve, reject });
      }),
    close: async () => {
      // The writer last: it is the one that folds the write-ahead log into the file.
      await reader.close();
      await queue.close();
    },
  };
};
