/** The kinds from this number on share one cell, because a client can add any number of them. */
const MAX_KINDS = 1_000;

/** Cells: number of the newest kind; then, by number, the position of the last event of each kind. */
const NEWEST = 0;

/** Number of cells that the heads of the kinds need. */
export const KIND_CELLS = 1 + MAX_KINDS;

/**
 * The position of the last event of each kind, in memory that all threads of the writer's process share. Readers
 * compare it with their own position, and need no query for a kind without new events. Hot kinds, whose events engines
 * report, are left out after their first event.
 *
 * The writer notes an event before its commit. A reader may therefore see a position that is not committed yet, or
 * never will be, and makes a query that finds nothing; it never misses an event that is committed.
 */
export type KindHeads = {
  /** Number of the newest kind. */
  newest(): number;
  /** True when an event of a kind may have been recorded after a position. */
  hasMoved(kind: number, after: number): boolean;
  /** Notes that an event of a kind is about to be committed. */
  note(kind: number, position: number): void;
  /** Notes the newest kind, and a position up to which an event of any kind may have been recorded. */
  start(newest: number, head: number): void;
};

/** The heads of the kinds in shared cells. */
export const kindHeads = (cells: BigInt64Array): KindHeads => {
  const cellOf = (kind: number): number => Math.min(kind, MAX_KINDS);
  const noteNewest = (kind: number): void => {
    if (kind > Number(Atomics.load(cells, NEWEST))) Atomics.store(cells, NEWEST, BigInt(kind));
  };
  return {
    newest: () => Number(Atomics.load(cells, NEWEST)),
    hasMoved: (kind, after) => Number(Atomics.load(cells, cellOf(kind))) > after,
    note: (kind, position) => {
      noteNewest(kind);
      Atomics.store(cells, cellOf(kind), BigInt(position));
    },
    start: (newest, head) => {
      noteNewest(newest);
      for (let kind = 1; kind <= MAX_KINDS; kind += 1) Atomics.store(cells, kind, BigInt(head));
    },
  };
};
