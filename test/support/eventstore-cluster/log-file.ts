import { DatabaseSync } from '@photostructure/sqlite';

/** An event as the test double stores it. */
export type Stored = {
  /** The byte offset of its record. */
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly id: Buffer;
  readonly type: string;
  readonly isJson: boolean;
  readonly createdMs: number;
  readonly metadata: Buffer;
  readonly data: Buffer;
};

/** An event that is to be written. */
export type Proposed = Pick<Stored, 'id' | 'type' | 'isJson' | 'metadata' | 'data'>;

/**
 * The size of a record without its names and contents, in bytes. Any size would do: positions only have to be offsets
 * with gaps, as those of the real server are.
 */
const RECORD_BYTES = 117;

/** The size of a record that readers never see, in bytes; any size would do. */
const HIDDEN_BYTES = 237;

/**
 * The tables. `records`: the log; `next` is the position after the record, and a hidden record has no `stream`.
 * `nodes`: the nodes; `heardMs` is the time of the last heartbeat, and `shown` the end of the log as the node shows it.
 * `leadership`: one row; `leader` is the instance of the leader, and `vacantMs` the start of the wait for an election.
 * Times are in milliseconds since 1970.
 */
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  PRAGMA busy_timeout = 10000;
  CREATE TABLE IF NOT EXISTS records (
    position INTEGER PRIMARY KEY, next INTEGER NOT NULL, stream BLOB, revision INTEGER, id BLOB, type BLOB,
    isJson INTEGER, createdMs INTEGER NOT NULL, metadata BLOB, data BLOB
  );
  CREATE UNIQUE INDEX IF NOT EXISTS byStream ON records (stream, revision);
  CREATE INDEX IF NOT EXISTS byId ON records (id);
  CREATE TABLE IF NOT EXISTS nodes (
    name TEXT PRIMARY KEY, instance TEXT NOT NULL, port INTEGER NOT NULL, heardMs INTEGER NOT NULL, shown INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS leadership (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, leader TEXT, vacantMs INTEGER NOT NULL
  );
  INSERT OR IGNORE INTO leadership VALUES (1, 0, NULL, 0);
`;

const COLUMNS = 'position, stream, revision, id, type, isJson, createdMs, metadata, data';

type Row = {
  readonly position: bigint;
  readonly stream: Uint8Array;
  readonly revision: bigint;
  readonly id: Uint8Array;
  readonly type: Uint8Array;
  readonly isJson: bigint;
  readonly createdMs: bigint;
  readonly metadata: Uint8Array;
  readonly data: Uint8Array;
};

const storedOf = (row: Row): Stored => ({
  position: row.position,
  stream: Buffer.from(row.stream).toString(),
  revision: row.revision,
  id: Buffer.from(row.id),
  type: Buffer.from(row.type).toString(),
  isJson: row.isJson === 1n,
  createdMs: Number(row.createdMs),
  metadata: Buffer.from(row.metadata),
  data: Buffer.from(row.data),
});

/** The range of a read of the log: from a position (included) to another (excluded), at most `limit` events. */
export type Range = { readonly from: bigint; readonly below: bigint; readonly limit: number };

/** The range of a read of a stream: revisions from `first` to `last`, both included, before the position `below`. */
export type StreamRange = {
  readonly first: bigint;
  readonly last: bigint;
  readonly below: bigint;
  readonly limit: number;
  readonly isBackwards: boolean;
};

/**
 * Opens the log that all nodes share, with the record of their leader: one SQLite file, which stays intact when a
 * process is killed. A position is the byte offset that the record would have in a log of records.
 */
export const openLogFile = (path: string) => {
  const db = new DatabaseSync(path);
  db.exec(SCHEMA);
  const statement = (sql: string) => {
    const prepared = db.prepare(sql);
    prepared.setReadBigInts(true);
    return prepared;
  };
  const forwards = statement(
    `SELECT ${COLUMNS} FROM records WHERE position >= ? AND position < ? AND stream IS NOT NULL ORDER BY position LIMIT ?`,
  );
  const backwards = statement(
    `SELECT ${COLUMNS} FROM records WHERE position < ? AND stream IS NOT NULL ORDER BY position DESC LIMIT ?`,
  );
  const inStream = (order: string) =>
    statement(
      `SELECT ${COLUMNS} FROM records WHERE stream = ? AND revision BETWEEN ? AND ? AND position < ?
       ORDER BY revision ${order} LIMIT ?`,
    );
  const [streamUp, streamDown] = [inStream('ASC'), inStream('DESC')];
  const at = statement('SELECT position FROM records WHERE position = ?');
  const endUntil = statement(
    'SELECT next FROM records WHERE position >= ? AND createdMs <= ? ORDER BY position DESC LIMIT 1',
  );
  const lastNext = statement('SELECT next FROM records ORDER BY position DESC LIMIT 1');
  const lastOf = statement('SELECT max(revision) AS revision FROM records WHERE stream = ? AND position < ?');
  const known = statement('SELECT revision, position FROM records WHERE id = ? AND stream = ? ORDER BY position');
  const insert = statement(
    `INSERT INTO records (position, next, stream, revision, id, type, isJson, createdMs, metadata, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const end = (): bigint => (lastNext.get() as { next: bigint } | undefined)?.next ?? 0n;
  const rows = (found: unknown[]): Stored[] => (found as Row[]).map(storedOf);

  return {
    db,
    end,
    /** The end of the log as of a time, at or after a known end. */
    endBefore: (from: bigint, ms: number): bigint =>
      (endUntil.get(from, BigInt(ms)) as { next: bigint } | undefined)?.next ?? from,
    isRecord: (position: bigint): boolean => at.get(position) !== undefined,
    readForwards: ({ from, below, limit }: Range): Stored[] => rows(forwards.all(from, below, limit)),
    readBackwards: (below: bigint, limit: number): Stored[] => rows(backwards.all(below, limit)),
    readStream: (stream: string, { first, last, below, limit, isBackwards }: StreamRange): Stored[] =>
      rows((isBackwards ? streamDown : streamUp).all(Buffer.from(stream), first, last, below, limit)),
    lastRevision: (stream: string, below: bigint): bigint | undefined =>
      (lastOf.get(Buffer.from(stream), below) as { revision: bigint | null }).revision ?? undefined,
    /** The revisions and positions at which a stream has an event with this id. */
    find: (stream: string, id: Buffer): { revision: bigint; position: bigint }[] =>
      known.all(id, Buffer.from(stream)) as { revision: bigint; position: bigint }[],
    /**
     * Writes events after the revision `after`; must be called within a transaction.
     *
     * @returns the position of the last event.
     */
    write: (stream: string, after: bigint, events: readonly Proposed[], nowMs: number): bigint => {
      let position = end();
      let last = position;
      events.forEach(({ id, type, isJson, metadata, data }, index) => {
        const names = [Buffer.from(stream), Buffer.from(type)] as const;
        const bytes = names[0].length + names[1].length + metadata.length + data.length + RECORD_BYTES;
        const next = position + BigInt(bytes);
        const revision = after + 1n + BigInt(index);
        insert.run(position, next, names[0], revision, id, names[1], isJson ? 1 : 0, nowMs, metadata, data);
        last = position;
        position = next;
      });
      return last;
    },
    /**
     * Writes a record that readers never see, for a new leader or for an empty append; must be called within a
     * transaction.
     */
    writeHidden: (nowMs: number): bigint => {
      const position = end();
      insert.run(position, position + BigInt(HIDDEN_BYTES), null, null, null, null, null, nowMs, null, null);
      return position;
    },
    /** Runs work in a transaction: atomic, and without other writers meanwhile. */
    transaction: <Result>(work: () => Result): Result => {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        db.exec('COMMIT');
        return result;
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    },
  };
};

/** An open log file. */
export type LogFile = ReturnType<typeof openLogFile>;
