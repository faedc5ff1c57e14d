import { Worker } from 'node:worker_threads';
import type { Appended, EventStore } from '../../kernel/ports/event-store.js';
import { checkAppend } from '../append.js';
import { appendQueue, type OnCommit } from './append-queue.js';
import { publishedTimes, sharedHead } from './head.js';
import { logPath, type Synchronous } from './schema.js';
import { sqliteLogReader, type LogReaderSource } from './sqlite-log-reader.js';
import type { WriterSettings } from './writer-messages.js';

/** The types of the reports of engines in all log formats: their events are hot, so they have no index. */
const HOT_TYPES = ['WorkflowPhaseReported', 'NodePhaseReported', 'TaskPhaseReported', 'EngineReported'];

/** Location and settings of the embedded log. */
export type SqliteEventStoreOptions = {
  /** Must exist and be locked by this process. */
  readonly directory: string;
  /** Event types that make up the bulk of the log; filters on other types do not scan them. */
  readonly hotTypes?: readonly string[];
  /** `OFF` is for tests alone: a crash of the machine can lose acknowledged events. */
  readonly synchronous?: Synchronous;
  readonly onCommit?: OnCommit;
};

/** The embedded log, with the data that readers on other threads need. */
export type SqliteEventStore = EventStore & {
  readonly readerSource: LogReaderSource;
  /**
   * Resolves after `close`; rejects when the writer thread has ended by itself, because then nothing can be recorded.
   */
  readonly ended: Promise<void>;
  /** Number of batches of appends since the log was opened, also those that failed. */
  commits(): number;
};

/**
 * Opens the log of a data directory and creates it if missing. Commits happen on a separate thread.
 *
 * @throws {DataDirectoryUnusable} when the log cannot be used; it is left unchanged then.
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
  const reader = await sqliteLogReader({ directory, source: readerSource }).catch(async (error: unknown) => {
    await queue.close();
    throw error;
  });

  return {
    ...reader,
    readerSource,
    ended: queue.ended,
    commits: () => publishedTimes(head) - 1,
    append: (stream, expected, events): Promise<Appended> =>
      new Promise((resolve, reject) => {
        const append = { stream, expected, events };
        checkAppend(append);
        queue.add({ append, resolve, reject });
      }),
    close: async () => {
      // The writer closes last: it merges the write-ahead log into the file.
      await reader.close();
      await queue.close();
    },
  };
};
