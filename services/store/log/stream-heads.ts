import { type Database } from './schema.js';

/** A stream as its writer sees it: its number and its last revision, -1 while it has no event. */
export type StreamHead = { readonly id: number; revision: number };

/** The heads of streams, the recent ones in memory. */
export type StreamHeads = {
  find(name: string): StreamHead | undefined;
  create(name: string): StreamHead;
};

/** Two generations of so many: what is asked for moves to the young one, and the old one is dropped as a whole. */
const GENERATION = 50_000;

/** Keeps the heads of one connection. They follow its transaction: after a rollback they are made anew. */
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
