import { type Database } from './schema.js';

/** A stream as the writer sees it: its row number and its last revision, -1 while it has no event. */
export type StreamHead = { readonly id: number; revision: number };

/** Heads of streams, cached. */
export type StreamHeads = {
  find(name: string): StreamHead | undefined;
  create(name: string): StreamHead;
};

/**
 * Size of each of two cache generations. Entries that are used move to the young one; the old one is dropped as a
 * whole.
 */
const GENERATION = 50_000;

/**
 * Caches the stream heads of one connection, including changes of its open transaction. After a rollback the caller
 * must make a new cache.
 */
export const streamHeads = (db: Database): StreamHeads => {
  const select = db.prepare(
    'SELECT id, (SELECT max(revision) FROM events WHERE stream = streams.id) FROM streams WHERE name = ?',
    { returnArrays: true },
  );
  const insert = db.prepare('INSERT INTO streams (name) VALUES (?)');
  let young = new Map<string, StreamHead>();
  let old = new Map<string, StreamHead>();

  const keep = (name: string, head: StreamHead): StreamHead => {
    if (young.size >= GENERATION) {
      old = young;
      young = new Map();
    }
    young.set(name, head);
    return head;
  };

  const stored = (name: string): StreamHead | undefined => {
    const row = select.get(name) as unknown as [id: number, revision: number | null] | undefined;
    return row && { id: row[0], revision: row[1] ?? -1 };
  };

  return {
    find: (name) => {
      const recent = young.get(name);
      if (recent) return recent;
      const head = old.get(name) ?? stored(name);
      return head && keep(name, head);
    },
    create: (name) => keep(name, { id: Number(insert.run(name).lastInsertRowid), revision: -1 }),
  };
};
