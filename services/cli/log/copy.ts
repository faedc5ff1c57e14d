import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog, EventStore, ExpectedRevision } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { OutcomeUnknown, RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { categoryOf } from '../../kernel/stream.js';
import { lockDataDirectory } from '../../store/data-directory.js';
import { openLogger } from '../../main/logger.js';
import { codecs } from '../../main/models.js';
import { type LogSource, markCopyOf, openLog, openWritableLog } from '../../main/log/log-source.js';
import { appendInGroups, type Batch } from './append-groups.js';
import { progressBar, throughLog } from '../progress-bar.js';
import { printSummary, secondsSince } from '../summary.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';
import { assertLogComplete, markComplete, markIncomplete } from '../../store/log/presence.js';

/** The two logs: data directories, or connection strings of an EventStoreDB. */
export type LogCopyFlags = { readonly from: string; readonly to: string };

const MAX_BATCH = { events: 100, bytes: 500_000 } as const;

/**
 * While a store is unreachable, copying is retried for this long since the last progress, with a pause between
 * attempts.
 */
const UNREACHABLE_LIMIT_MS = 10_000;
const PAUSE_MS = 250;

const isUrl = (location: string): boolean => location.includes('://');

const sourceOf = (location: string): LogSource =>
  isUrl(location) ? { kind: 'eventstore', url: location } : { kind: 'embedded', directory: resolve(location) };

/** False for events that belong to the store itself: its system streams, and the stream with the log's id. */
const isCopied = ({ stream }: RecordedEvent): boolean => !isSystemStream(stream);

const sizeOf = ({ data, metadata }: RecordedEvent): number => data.length + Buffer.byteLength(metadata) + 64;

/** The first byte of a JSON object; no stored message begins with it. */
const BRACE = '{'.charCodeAt(0);

/**
 * Checks that an event has its stored bytes.
 *
 * @throws {OperatorError} when the server has converted the event to JSON, so that the stored bytes are unknown.
 */
const assertStored = ({ stream, data }: RecordedEvent): void => {
  if (data[0] === BRACE && codecs.has(categoryOf(stream)))
    throw new OperatorError(
      `the source server gives events as JSON (${stream}), not as they were stored: ` +
        'leave connectionName out of its connection string, or start it with --eventstore-format stored',
    );
};

/** Reads the events that are copied, in the pages of the log: a promise for each event takes longer than its copy. */
async function* pagesAfter(log: EventLog, after: bigint): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const { events } of log.readLog({ after })) {
    const copied = events.filter(isCopied);
    copied.forEach(assertStored);
    if (copied.length > 0) yield copied;
  }
}

const isFull = ({ events, bytes }: Batch, more: number): boolean =>
  events.length >= MAX_BATCH.events || bytes + more > MAX_BATCH.bytes;

async function* batchesAfter(log: EventLog, after: bigint): AsyncGenerator<Batch> {
  let batch: Batch | undefined;
  for await (const page of pagesAfter(log, after))
    for (const event of page) {
      const bytes = sizeOf(event);
      if (batch !== undefined && (batch.stream !== event.stream || isFull(batch, bytes))) {
        yield batch;
        batch = undefined;
      }
      batch ??= { stream: event.stream, events: [], bytes: 0 };
      batch.events.push(event);
      batch.bytes += bytes;
    }
  if (batch) yield batch;
}

const expectedOf = ([first]: readonly RecordedEvent[]): ExpectedRevision =>
  first === undefined || first.revision === 0n ? 'no-stream' : first.revision - 1n;

const lastOf = async (log: EventLog): Promise<RecordedEvent | undefined> => {
  for await (const page of log.readLogBackwards()) {
    const last = page.find(isCopied);
    if (last) return last;
  }
  return undefined;
};

const isSame = (one: RecordedEvent, other: RecordedEvent): boolean =>
  one.stream === other.stream &&
  one.revision === other.revision &&
  one.type === other.type &&
  one.metadata === other.metadata &&
  Buffer.compare(one.id, other.id) === 0 &&
  Buffer.compare(one.data, other.data) === 0;

const nameOf = ({ stream, revision }: RecordedEvent): string => `${stream} at revision ${revision}`;

/** The message about an event of the copy that is not equal to that of the source. */
export const differenceOf = (original: string, copy: string): string =>
  original === copy
    ? `the copy differs: ${original} has other content`
    : `the copy differs: it has ${copy} in place of ${original}`;

/**
 * Finds where an earlier copy ended.
 *
 * @returns the position, in the source log, of the last event that the target log has; 0 when the target has none.
 * @throws {OperatorError} when the target log is not a copy of the source.
 */
const resumeAfter = async (from: EventLog, to: EventLog): Promise<bigint> => {
  const last = await lastOf(to);
  if (last === undefined) return 0n;
  for await (const [original] of from.readStream(last.stream, { from: last.revision, limit: 1 }))
    if (original !== undefined && isSame(original, last)) return original.position;
  throw new OperatorError(
    `the target log is not a copy of the source: its last event, ${nameOf(last)}, is not in the source or differs there`,
  );
};

type Logs = { readonly from: EventLog; readonly to: EventStore };

type OnProgress = (position: bigint) => void;

/** Appends all events after a position, in order. */
const copyAfter = ({ from, to }: Logs, after: bigint, onProgress: OnProgress): Promise<void> =>
  appendInGroups(batchesAfter(from, after), {
    append: ({ stream, events }) => to.append(stream, expectedOf(events), events),
    onAppended: onProgress,
  });

const isRetryable = (error: unknown): boolean => error instanceof StoreUnavailable || error instanceof OutcomeUnknown;

/**
 * Copies all events after a position. After an append whose outcome is unknown, or a store that could not be reached,
 * it continues after the last event that the target log has.
 *
 * @returns the position, in the source log, of the last event that the target has now.
 */
const copyWithRetries = async (logs: Logs, after: bigint, onProgress: OnProgress): Promise<bigint> => {
  let reached = after;
  let reachedAt = performance.now();
  const advance = (position: bigint): void => {
    if (position > reached) [reached, reachedAt] = [position, performance.now()];
    onProgress(position);
  };
  for (;;) {
    try {
      await copyAfter(logs, reached, advance);
      return reached;
    } catch (error) {
      if (!isRetryable(error) || performance.now() - reachedAt > UNREACHABLE_LIMIT_MS) throw error;
      await pause(PAUSE_MS);
      const resumed = await resumeAfter(logs.from, logs.to).catch((failure: unknown) => {
        if (!isRetryable(failure)) throw failure;
        return reached;
      });
      advance(resumed);
    }
  }
};

type Verification = {
  readonly from: EventLog;
  readonly to: EventLog;
  /** The position up to which events were copied; events recorded after it need not be in the copy. */
  readonly upTo: bigint;
};

/** Divides pages anew: reads as many events as asked for, and fewer only at the end of the log. */
const eventsOf = (pages: AsyncGenerator<readonly RecordedEvent[]>) => {
  let rest: readonly RecordedEvent[] = [];
  return async (count: number): Promise<readonly RecordedEvent[]> => {
    while (rest.length < count) {
      const next = await pages.next();
      if (next.done === true) break;
      rest = rest.concat(next.value);
    }
    const taken = rest.slice(0, count);
    rest = rest.slice(count);
    return taken;
  };
};

/**
 * Reads both logs side by side and compares them event by event.
 *
 * @returns the number of equal events.
 * @throws {OperatorError} at the first event that differs, is missing, or is only in the copy.
 */
const verify = async ({ from, to, upTo }: Verification, onProgress: (position: bigint) => void): Promise<number> => {
  const copies = eventsOf(pagesAfter(to, 0n));
  let count = 0;
  for await (const originals of pagesAfter(from, 0n)) {
    const found = await copies(originals.length);
    for (const [at, original] of originals.entries()) {
      const copy = found[at];
      if (copy === undefined && original.position > upTo) return count;
      if (copy === undefined) throw new OperatorError(`the copy is incomplete: ${nameOf(original)} is missing`);
      if (!isSame(original, copy)) throw new OperatorError(differenceOf(nameOf(original), nameOf(copy)));
      count += 1;
      onProgress(original.position);
    }
  }
  const [more] = await copies(1);
  if (more !== undefined) throw new OperatorError(`the copy has an event that the source has not: ${nameOf(more)}`);
  return count;
};

/** The log that is filled. No server starts on an embedded one between `begin` and `complete`. */
type Target = {
  readonly store: EventStore;
  readonly begin: () => Promise<void>;
  readonly complete: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const openTarget = async (location: string): Promise<Target> => {
  const directory = isUrl(location) ? '' : resolve(location);
  const lock = isUrl(location) ? undefined : await lockDataDirectory(directory);
  const event_store = isUrl(location) ? location : 'embedded:';
  const { store } = await openWritableLog(
    { event_store },
    // No retries: a repeated append could land after the next one. The copy resumes from the target's last event.
    { directory, derived: [], logger: openLogger('warn'), isCopying: true, retries: false },
  );
  return {
    store,
    begin: async () => (lock ? markIncomplete(directory) : undefined),
    complete: async () => (lock ? markComplete(directory) : undefined),
    close: async () => {
      await store.close();
      lock?.release();
    },
  };
};

const SAME_LOG = '--from and --to name the same log';

const assertCopyable = ({ from, to }: LogCopyFlags): void => {
  if (from === to || (!isUrl(from) && !isUrl(to) && resolve(from) === resolve(to))) throw new OperatorError(SAME_LOG);
  if (!isUrl(from) && !existsSync(resolve(from)))
    throw new OperatorError(`there is no data directory ${resolve(from)}`);
  if (!isUrl(from)) assertLogComplete(resolve(from)); // a copy of a part of a log would not be marked as such
};

/**
 * Copies a log, without the streams that belong to its store, into another store, in order: the same streams,
 * revisions, ids and bytes, under a new log id. The target is a copy until it takes over. A copy that was interrupted
 * resumes. Reads both logs again and compares them, then prints a summary as one JSON object.
 *
 * @throws {OperatorError} when both flags name one log, a log cannot be opened, the target log is not a copy of the
 * source, another process writes to it, or the two differ in the end.
 * @throws {Fault} when the source is itself an unfinished copy, or a store fails, or cannot be reached for too long.
 */
export const copyLog = async (flags: LogCopyFlags): Promise<void> => {
  assertCopyable(flags);
  const started = performance.now();
  const from = await forSetting('--from', () => openLog(sourceOf(flags.from), openLogger('warn')));
  const { store: to, begin, complete, close } = await forSetting('--to', () => openTarget(flags.to));
  const head = await from.head();
  const bar = progressBar();
  const through = (phase: string) => (position: bigint) => bar.show(throughLog({ phase, position, head }));
  try {
    if (from.logId === to.logId) throw new OperatorError(SAME_LOG); // two names of one directory or server
    const after = await resumeAfter(from, to);
    await begin();
    await forSetting('--to', () => markCopyOf(sourceOf(flags.to), from.logId));
    const copying = through('copy');
    copying(after);
    const began = performance.now();
    const upTo = await copyWithRetries({ from, to }, after, copying);
    const copySeconds = secondsSince(began);
    const events = await verify({ from, to, upTo }, through('verify'));
    await complete();
    bar.stop();
    const took = { copySeconds, seconds: secondsSince(started) };
    printSummary({ events, resumedAfter: Number(after), logId: to.logId, copyOf: from.logId, ...took });
  } catch (error) {
    if (error instanceof RevisionConflict)
      throw new OperatorError(`another process has written to the target log: ${error.message}`, {
        cause: error,
      });
    throw error;
  } finally {
    bar.stop();
    await from.close();
    await close();
  }
};
