import type { NewEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import type { Append } from '../append.js';
import type { Placement } from './append-batch.js';
import { failPoint } from '../fail-point.js';
import type { KindHeads } from './kind-heads.js';
import { kindsOf, type EventKind, type Kinds } from './kinds.js';
import { type Database } from './schema.js';
import { recordedIds } from './recorded-ids.js';
import { CommitFailed, isDiskFull } from './sqlite-fault.js';
import { streamHeads, type StreamHead, type StreamHeads } from './stream-heads.js';

/**
 * The reason why an append was rejected: the stream is at another revision, or has only some of the events, or has them
 * in another order or with others between them.
 */
export type Conflict = { readonly conflict: string };

/** The only writer of a log. */
export type LogWriter = {
  /**
   * Position of the last committed event, and of the last one that is not hot or is the first of its kind. After the
   * start or a failed transaction, `rare` may be higher than that: it begins at the head.
   */
  head(): { readonly position: number; readonly rare: number };
  /** The duration of the last successful COMMIT, in milliseconds: it ends when the disk has synced. */
  syncMs(): number;
  /**
   * Commits the appends in one transaction. A conflict of one append does not affect the others.
   *
   * @returns the result of each append, in order.
   * @throws {CommitFailed} when the outcome of the COMMIT is not known: the appends may be found after the next start.
   * @throws the binding's error when the transaction failed earlier, or the COMMIT found the disk full and no earlier
   * COMMIT had left frames in the write-ahead log: nothing is recorded.
   */
  commit(appends: readonly Append[]): (Placement | Conflict)[];
};

type Memory = { readonly kinds: Kinds; readonly heads: StreamHeads; position: number; rare: number };

/** State in memory that follows the transaction; it is read again after a transaction that failed. */
const memory = (db: Database): Memory => {
  const kinds = kindsOf(db);
  kinds.refresh();
  const { head } = db.prepare('SELECT coalesce(max(position), 0) AS head FROM events').get() as { head: number };
  return { kinds, heads: streamHeads(db), position: head, rare: head };
};

const conflictTextOf = ({ expected }: Append, revision: number): string => {
  if (expected === 'any') return 'has only some of the events, or has them in another order or among others';
  const expectation = expected === 'no-stream' ? 'not to exist' : `at revision ${expected}`;
  return `is expected ${expectation} and ${revision < 0 ? 'has no event' : `is at ${revision}`}`;
};

const conflictOf = (append: Append, revision: number): Conflict => ({
  conflict: `stream ${append.stream} ${conflictTextOf(append, revision)}`,
});

const isExpected = ({ expected }: Append, revision: number): boolean => {
  if (expected === 'any') return true;
  return expected === 'no-stream' ? revision === -1 : Number(expected) === revision;
};

/** Makes the function that commits the open transaction; it throws `CommitFailed` when the outcome is not known. */
const commitOf = (db: Database): (() => void) => {
  /** True after a COMMIT of unknown outcome until one succeeds: its frames may be complete in the write-ahead log. */
  let hasLeftOver = false;
  return () => {
    try {
      db.exec('COMMIT');
      hasLeftOver = false;
    } catch (error) {
      if (isDiskFull(error) && !hasLeftOver) throw error; // the transaction's last frame is incomplete
      hasLeftOver = true;
      throw new CommitFailed(error);
    }
  };
};

/**
 * Runs a transaction, and once more when the outcome of its COMMIT is not known. The second run settles what may be
 * left in the write-ahead log: its events are either found by their ids or overwritten.
 */
const settled = <Result>(transaction: () => Result): Result => {
  try {
    return transaction();
  } catch (failed) {
    if (!(failed instanceof CommitFailed)) throw failed;
    try {
      return transaction();
    } catch {
      throw failed;
    }
  }
};

/** Settings of a writer besides its connection. */
type LogWriterOptions = {
  /** Event types that make up the bulk of the log; a scan finds them faster than an index. */
  readonly hotTypes: readonly string[];
  /** Position of the last event. */
  readonly head: number;
  /** The writer notes here each event that is not hot or is the first of its kind, before it commits it. */
  readonly kindHeads: KindHeads;
};

/** Writes the log through its connection. */
export const logWriter = (db: Database, { hotTypes, head, kindHeads }: LogWriterOptions): LogWriter => {
  const insertKind = db.prepare('INSERT INTO kinds (category, type, is_hot) VALUES (?, ?, ?)');
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const findRecorded = recordedIds(db);
  const { newest } = db.prepare('SELECT coalesce(max(id), 0) AS newest FROM kinds').get() as { newest: number };
  kindHeads.start(newest, head);
  let committed = { position: head, rare: head };
  const commit = commitOf(db);
  let now: Memory | undefined;
  let syncMs = 0;

  const addKind = ({ kinds }: Memory, category: string, type: string): EventKind => {
    const isHot = hotTypes.includes(type);
    const id = Number(insertKind.run(category, type, isHot ? 1 : 0).lastInsertRowid);
    kinds.refresh();
    return { id, category, type, isHot };
  };

  const insert = (to: Memory, stream: StreamHead, category: string, event: NewEvent): void => {
    const known = to.kinds.named(category, event.type);
    const { id: kind, isHot } = known ?? addKind(to, category, event.type);
    to.position += 1;
    if (!known || !isHot) {
      to.rare = to.position;
      kindHeads.note(kind, to.position);
    }
    stream.revision += 1;
    const { id, metadata, data } = event;
    insertEvent.run(to.position, stream.id, stream.revision, kind, isHot ? null : kind, id, metadata, data);
  };

  const placeAppend = (to: Memory, append: Append): Placement | Conflict => {
    const known = to.heads.find(append.stream);
    const earlier = known && findRecorded(append, known);
    if (earlier) return earlier;
    const revision = known?.revision ?? -1;
    if (earlier === null || !isExpected(append, revision)) return conflictOf(append, revision);
    const stream = known ?? to.heads.create(append.stream);
    const category = categoryOf(append.stream);
    for (const event of append.events) insert(to, stream, category, event);
    return { revision: stream.revision, position: to.position };
  };

  const transact = (appends: readonly Append[]): (Placement | Conflict)[] => {
    try {
      const to = (now ??= memory(db));
      db.exec('BEGIN IMMEDIATE');
      const placed = appends.map((append) => placeAppend(to, append));
      failPoint('before-commit');
      const startedAt = performance.now();
      commit();
      syncMs = performance.now() - startedAt;
      committed = { position: to.position, rare: to.rare };
      failPoint('after-commit');
      return placed;
    } catch (error) {
      now = undefined;
      if (db.isTransaction) db.exec('ROLLBACK'); // SQLite may have rolled back already when a COMMIT failed
      throw error;
    }
  };

  return { head: () => committed, syncMs: () => syncMs, commit: (appends) => settled(() => transact(appends)) };
};
