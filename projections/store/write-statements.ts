import type { DatabaseSync } from '@photostructure/sqlite';
import type { Checkpoint, ParkedStream } from '../kernel/read-store.js';

/** The statements of what every file of views has beside its documents. */
export type WriteStatements = {
  checkpoints(names: readonly string[]): ReadonlyMap<string, Checkpoint>;
  /** Moves a checkpoint from the value that it must have; answers whether it had it. */
  move(name: string, from: Checkpoint | undefined, to: Checkpoint): boolean;
  parked(): readonly ParkedStream[];
  park(stream: ParkedStream): void;
  resume(stream: string): void;
};

/** Prepares them; the tables must be there. */
export const writeStatements = (db: InstanceType<typeof DatabaseSync>): WriteStatements => {
  const bigints = { readBigInts: true };
  const read = db.prepare(
    'SELECT name, log_id AS logId, position FROM checkpoints WHERE name IN (SELECT value FROM json_each(?))',
    bigints,
  );
  const insert = db.prepare('INSERT INTO checkpoints VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const update = db.prepare(
    'UPDATE checkpoints SET log_id = ?, position = ? WHERE name = ? AND log_id = ? AND position = ?',
  );
  const parked = db.prepare('SELECT stream, position, reason FROM parked ORDER BY position', bigints);
  const park = db.prepare(
    'INSERT INTO parked VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, reason = excluded.reason',
  );
  const resume = db.prepare('DELETE FROM parked WHERE stream = ?');
  return {
    checkpoints: (names) => {
      const rows = read.all(JSON.stringify(names)) as (Checkpoint & { readonly name: string })[];
      return new Map(rows.map(({ name, ...checkpoint }) => [name, checkpoint]));
    },
    move: (name, from, to) =>
      (from
        ? update.run(to.logId, to.position, name, from.logId, from.position)
        : insert.run(name, to.logId, to.position)
      ).changes === 1,
    parked: () => parked.all() as ParkedStream[],
    park: ({ stream, position, reason }) => park.run(stream, position, reason),
    resume: (stream) => resume.run(stream),
  };
};
