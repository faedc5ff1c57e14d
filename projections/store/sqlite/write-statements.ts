import type { DatabaseSync } from '@photostructure/sqlite';
import type { Checkpoint, CheckpointMove, ParkedMove, ParkedStream } from '../../runtime/read-store.js';

/** Prepared statements for checkpoints and parked streams. */
export type WriteStatements = {
  /** The checkpoints that exist among the names; by default all. */
  checkpoints(names?: readonly string[]): ReadonlyMap<string, Checkpoint>;
  /**
   * Moves a checkpoint from the expected value, or deletes it.
   *
   * @returns false when the stored value is another.
   */
  move(move: CheckpointMove): boolean;
  parked(): readonly ParkedStream[];
  /**
   * Parks, moves or unparks a stream, expecting its stored position to be `from`.
   *
   * @returns false when the stored position is another.
   */
  movePark(move: ParkedMove): boolean;
};

/** Prepares the statements; the tables must exist. */
export const writeStatements = (db: InstanceType<typeof DatabaseSync>): WriteStatements => {
  const bigints = { readBigInts: true };
  const read = db.prepare(
    'SELECT name, log_id AS logId, position FROM checkpoints WHERE name IN (SELECT value FROM json_each(?))',
    bigints,
  );
  const readAll = db.prepare('SELECT name, log_id AS logId, position FROM checkpoints', bigints);
  const insert = db.prepare('INSERT INTO checkpoints VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const update = db.prepare(
    'UPDATE checkpoints SET log_id = ?, position = ? WHERE name = ? AND log_id = ? AND position = ?',
  );
  const remove = db.prepare('DELETE FROM checkpoints WHERE name = ? AND log_id = ? AND position = ?');
  const move = ({ name, from, to }: CheckpointMove): boolean => {
    if (to === undefined) return from === undefined || remove.run(name, from.logId, from.position).changes === 1;
    if (from === undefined) return insert.run(name, to.logId, to.position).changes === 1;
    return update.run(to.logId, to.position, name, from.logId, from.position).changes === 1;
  };
  const parked = db.prepare('SELECT views, stream, position, reason FROM parked_streams ORDER BY position', bigints);
  const park = db.prepare('INSERT INTO parked_streams VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING');
  const unpark = db.prepare('DELETE FROM parked_streams WHERE views = ? AND stream = ? AND position = ?');
  const movePark = ({ views, stream, from, to }: ParkedMove): boolean => {
    if (from !== undefined && unpark.run(views, stream, from).changes === 0) return false;
    return to === undefined || park.run(views, stream, to.position, to.reason).changes === 1;
  };
  return {
    checkpoints: (names) => {
      const found = names === undefined ? readAll.all() : read.all(JSON.stringify(names));
      const rows = found as (Checkpoint & { readonly name: string })[];
      return new Map(rows.map(({ name, ...checkpoint }) => [name, checkpoint]));
    },
    move,
    parked: () => parked.all() as ParkedStream[],
    movePark,
  };
};
