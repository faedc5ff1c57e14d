import type { RecordedEvent } from '../../kernel/event.js';
import { LogEndsEarly } from '../../kernel/log-readers/log-end.js';
import type { EventFilter, EventLog, LogPage } from '../../kernel/ports/event-store.js';
import { type FileTarget, type Partitioning, resumeAt, type Description } from './description.js';
import { dateOf, type EventRow } from './event-row.js';
import { exportedPath, type PositionRange } from './exported-file.js';
import type { FileFormat } from './file-format.js';
import { openPlan } from './plan.js';

/** Source, target and shape of an export. */
export type FileExportOptions = {
  readonly log: Pick<EventLog, 'head' | 'readLog'>;
  readonly target: FileTarget;
  readonly description: Description;
  readonly format: FileFormat;
  /** The filter that the log applies. */
  readonly filter: EventFilter;
  /** Selects among the events that the log gives. */
  readonly matches: (event: RecordedEvent) => boolean;
  readonly rowOf: (event: RecordedEvent) => Promise<EventRow>;
  /** Maximum number of events in a file. A file also ends at {@link MAX_FILE_BYTES} and, by date, with its date. */
  readonly eventsPerFile: number;
  readonly onProgress: (position: bigint, head: bigint) => void;
  /** Called when a file is durable in the target. */
  readonly onFile: () => void;
};

/** Counts of what a run has written. */
export type Exported = {
  readonly files: number;
  readonly events: number;
  /** Those of `events` that cannot be read. */
  readonly parked: number;
  /** The size of the files. */
  readonly bytes: number;
};

/** An opened export, which knows the position after which it continues. */
export interface FileExport {
  /**
   * Writes all events up to the present end of the log. Once `isStopping` is true, it writes only what it has read.
   *
   * @throws {LogEndsEarly} when the log ends before a position that was exported, as after a restore of an older copy.
   * @throws {UnknownEvent} when this release does not know the category, type or schema of an event.
   * @throws {DataDirectoryInUse} when another process exports to the same bucket.
   * @throws {StoreUnavailable} when the log, a payload or the target cannot be used now.
   */
  run(isStopping: () => boolean): Promise<Exported>;
  /** All events up to this position are in files, or do not match. */
  readonly position: bigint;
}

/** A file ends with the event by which its bodies, before compression, have so many bytes: this bounds the memory. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** The rows of the next file. */
type Batch = { readonly rows: EventRow[]; bytes: number };

const empty = (): Batch => ({ rows: [], bytes: 0 });

const isFull = ({ rows, bytes }: Batch, eventsPerFile: number): boolean =>
  rows.length >= eventsPerFile || bytes >= MAX_FILE_BYTES;

const isOfAnotherDate = ([first]: readonly EventRow[], row: EventRow, partitionBy: Partitioning): boolean =>
  partitionBy === 'date' && first !== undefined && dateOf(first) !== dateOf(row);

/** Cuts the matching events, in the order of the log, into files; by date, each file has a single date. */
const batchesOf = async function* (
  pages: AsyncIterable<LogPage>,
  { matches, rowOf, eventsPerFile, description: { partitionBy } }: FileExportOptions,
  onRead: (position: bigint) => boolean,
): AsyncGenerator<readonly EventRow[]> {
  let batch = empty();
  for await (const { events, position } of pages) {
    for (const event of events.filter(matches)) {
      const row = await rowOf(event);
      if (isFull(batch, eventsPerFile) || isOfAnotherDate(batch.rows, row, partitionBy)) {
        yield batch.rows;
        batch = empty();
      }
      batch.rows.push(row);
      batch.bytes += row.body.length;
    }
    if (onRead(position)) break;
  }
  if (batch.rows.length > 0) yield batch.rows;
};

const pathOfRows = (rows: readonly EventRow[], { format, description }: FileExportOptions): string => {
  const [first, last] = [rows[0], rows.at(-1)] as readonly [EventRow, EventRow];
  const date = description.partitionBy === 'date' ? dateOf(first) : undefined;
  return exportedPath({ first: first.position, last: last.position }, format.extension, date);
};

/** The events of a planned file, which may not have been written yet. */
const rowsBetween = async (
  { first, last }: PositionRange,
  { log, filter, matches, rowOf }: FileExportOptions,
): Promise<readonly EventRow[]> => {
  const rows: EventRow[] = [];
  for await (const { events, position } of log.readLog({ after: first - 1n, filter })) {
    for (const event of events) if (event.position <= last && matches(event)) rows.push(await rowOf(event));
    if (position >= last) break;
  }
  return rows;
};

/**
 * The head of the log.
 *
 * @throws {LogEndsEarly} when it is before a position that the export has reached.
 */
const headBeyond = async (position: bigint, log: FileExportOptions['log']): Promise<bigint> => {
  const head = await log.head();
  if (position > head) throw new LogEndsEarly(head, position);
  return head;
};

const isParked = ({ unreadable }: EventRow): boolean => unreadable !== undefined;

/**
 * Opens an export of the log to files. A file appears when it is whole, and its name says which positions it has; so an
 * export that was killed goes on after its last file, and each event is in one file. A file is planned before it is
 * written, and only one of two processes can plan what follows a file: the other one fails.
 *
 * @throws {DataDirectoryInUse} when another process exports to the same folder; for a bucket, `run` throws it.
 * @throws {DataDirectoryUnusable} when the place belongs to another export.
 * @throws {UnknownEvent} when this release does not know the category, type or schema of an event of a planned file.
 * @throws {StoreUnavailable} when the place cannot be used, or the events of a planned file cannot be read now; as
 * {@link LogEndsEarly} when the log ends before the last of them.
 */
export const openFileExport = async (options: FileExportOptions): Promise<FileExport> => {
  const { log, target, description, format, filter, onProgress, onFile } = options;
  const plan = await openPlan(target); // before the files are listed, so that the list is at least as new
  let position = await resumeAt(target, description);

  const write = async (rows: readonly EventRow[]): Promise<Exported> => {
    const bytes = format.encode(rows);
    await target.write(pathOfRows(rows, options), bytes);
    position = rows.at(-1)?.position ?? position;
    onFile();
    return { files: 1, events: rows.length, parked: rows.filter(isParked).length, bytes: bytes.length };
  };

  const run = async (isStopping: () => boolean): Promise<Exported> => {
    const head = await headBeyond(position, log);
    const all = { files: 0, events: 0, parked: 0, bytes: 0 };
    let read = position;
    const onRead = (upTo: bigint): boolean => {
      read = upTo;
      onProgress(upTo, head);
      return isStopping();
    };
    for await (const rows of batchesOf(log.readLog({ after: position, filter }), options, onRead)) {
      await plan.next(pathOfRows(rows, options));
      const written = await write(rows);
      all.files += written.files;
      all.events += written.events;
      all.parked += written.parked;
      all.bytes += written.bytes;
    }
    position = read;
    return all;
  };

  if (plan.pending !== undefined && plan.pending.last > position) {
    await headBeyond(plan.pending.last, log);
    await write(await rowsBetween(plan.pending, options));
  }
  return {
    run,
    get position() {
      return position;
    },
  };
};
