import type { AnyBulkWriteOperation, ClientSession, Collection as MongoCollection, Db } from 'mongodb';
import { CheckpointMoved } from '../../../services/kernel/fault.js';
import type {
  Checkpoint,
  Collection,
  ParkedMove,
  ParkedStream,
  DocumentWrite,
  WriteBatch,
} from '../../runtime/read-store.js';
import { storedText } from '../stored-text.js';
import { type DriverRow, writtenOf } from './documents.js';
import { type BuildSession, split, putChunks, removeChunks } from './large-documents.js';
import { type Build, collectionName, ofBuild } from './names.js';

/** A stored checkpoint; `batch` is the ID of the last batch that wrote it, even if its position stayed. */
type CheckpointRow = {
  readonly _id: string;
  readonly logId: string;
  readonly position: bigint;
  readonly batch: string;
};

type ParkedRow = ParkedStream & { readonly _id: string };

/** The checkpoints of a build. */
export const checkpointsOf = (db: Db, build: Build): MongoCollection<CheckpointRow> =>
  db.collection<CheckpointRow>(ofBuild('checkpoints', build));

/** The parked streams of a build. */
const parkedOf = (db: Db, build: Build): MongoCollection<ParkedRow> =>
  db.collection<ParkedRow>(ofBuild('parked', build));

type Changed = { readonly collection: Collection; readonly puts: Map<string, DocumentWrite> };

/** Groups the documents of a batch by collection, with the latest version of each key. */
const changedOf = (documents: WriteBatch['documents']): readonly Changed[] => {
  const byName = new Map<string, Changed>();
  for (const put of documents) {
    const { collection, document } = put;
    const name = collectionName(collection, 0);
    const changed = byName.get(name) ?? { collection, puts: new Map<string, DocumentWrite>() };
    byName.set(name, changed);
    const known = changed.puts.get(document.key);
    if (!known || known.document.position < document.position) changed.puts.set(document.key, put);
  }
  return [...byName.values()];
};

const isAsRead = (row: CheckpointRow | undefined, from: Checkpoint | undefined): boolean =>
  row?.logId === from?.logId && row?.position === from?.position;

/**
 * Moves the checkpoints.
 *
 * @returns false when this batch has already moved them.
 * @throws {CheckpointMoved} when a stored checkpoint is not `from`.
 */
const move = async (
  { db, build, session }: BuildSession,
  moves: WriteBatch['checkpoints'],
  batch: string,
): Promise<boolean> => {
  const checkpoints = checkpointsOf(db, build);
  const found = await checkpoints.find({ _id: { $in: moves.map(({ name }) => name) } }, { session }).toArray();
  const rows = new Map(found.map((row) => [row._id, row]));
  if (found.some((row) => row.batch === batch)) return false;
  const moved = moves.find(({ name, from }) => !isAsRead(rows.get(name), from));
  if (moved) throw new CheckpointMoved(`another process has moved the checkpoint ${moved.name}`);
  // Checkpoints that stay are written too: of two batches made from the same value, the server then accepts only one.
  const writes = moves.map(({ name, to }): AnyBulkWriteOperation<CheckpointRow> => {
    if (to === undefined) return { deleteOne: { filter: { _id: name } } };
    const { logId, position } = to;
    return rows.has(name)
      ? { replaceOne: { filter: { _id: name }, replacement: { logId, position, batch } } }
      : { insertOne: { document: { _id: name, logId, position, batch } } };
  });
  await checkpoints.bulkWrite(writes, { session });
  return true;
};

type Seen = Pick<DriverRow, '_id' | 'position' | 'rewrites' | 'large'>;

/** Reads the stored versions of documents: their positions, and the sizes of bytes stored apart. */
const seenOf = async (
  rows: MongoCollection<DriverRow>,
  keys: string[],
  session: ClientSession,
): Promise<ReadonlyMap<string, Seen>> => {
  const projection = { position: 1, rewrites: 1, large: 1 };
  const seen = new Map<string, Seen>();
  for await (const row of rows.find({ _id: { $in: keys } }, { session, projection, batchSize: 10_000 }))
    seen.set(row._id, row);
  return seen;
};

/**
 * The row to store over an existing one; `undefined` when the existing one is at the same or a later position, or, for
 * a late row, at a later one.
 */
const inPlaceOf = (before: Seen | undefined, row: DriverRow, isLate: boolean): DriverRow | undefined => {
  if (!before || before.position < row.position) return row;
  return isLate && before.position === row.position ? { ...row, rewrites: (before.rewrites ?? 0) + 1 } : undefined;
};

const putDocuments = async ({ db, build, session }: BuildSession, { collection, puts }: Changed): Promise<void> => {
  const name = collectionName(collection, build);
  const rows = db.collection<DriverRow>(name);
  const seen = await seenOf(rows, [...puts.keys()].map(storedText), session);
  const written = [...puts.values()].flatMap(({ document, isLate = false }) => {
    const encoded = writtenOf(collection, document);
    const before = seen.get(encoded._id);
    const row = inPlaceOf(before, encoded, isLate);
    return row ? [{ ...split(name, row), before }] : [];
  });
  const replaced = written.flatMap(({ before }) => before ?? []);
  await removeChunks({ db, build, session }, name, replaced);
  await putChunks(
    { db, build },
    written.flatMap(({ chunks }) => chunks),
  );
  const writes = written.map(({ row, before }): AnyBulkWriteOperation<DriverRow> =>
    before ? { replaceOne: { filter: { _id: row._id }, replacement: row } } : { insertOne: { document: row } },
  );
  if (writes.length > 0) await rows.bulkWrite(writes, { session, ordered: false });
};

const moveParked = async (
  { db, build, session }: BuildSession,
  { views, stream, from, to }: ParkedMove,
): Promise<void> => {
  const streams = parkedOf(db, build);
  const _id = `${views} ${stream}`;
  const found = await streams.findOne({ _id }, { session });
  if (found?.position !== from) throw new CheckpointMoved(`another process has moved the parked stream ${stream}`);
  if (to === undefined) await streams.deleteOne({ _id }, { session });
  else await streams.replaceOne({ _id }, { views, stream, ...to }, { session, upsert: true });
};

/**
 * Writes a batch in the transaction of a session.
 *
 * @param batch ID by which a retry recognizes that this batch was written.
 * @returns false when the batch has already been written.
 * @throws {CheckpointMoved} when a checkpoint, or a parked stream, is not what the batch was made from.
 */
export const writeBatch = async (
  target: BuildSession,
  { documents, checkpoints, parked = [] }: WriteBatch,
  batch: string,
): Promise<boolean> => {
  if (!(await move(target, checkpoints, batch))) return false;
  for (const each of parked) await moveParked(target, each);
  for (const changed of changedOf(documents)) await putDocuments(target, changed);
  return true;
};

/** Reads the checkpoints that exist among the names; by default all. */
export const checkpointsIn = async (
  db: Db,
  build: Build,
  names?: readonly string[],
): Promise<ReadonlyMap<string, Checkpoint>> => {
  const rows = await checkpointsOf(db, build)
    .find(names === undefined ? {} : { _id: { $in: [...names] } })
    .toArray();
  return new Map(rows.map(({ _id, logId, position }) => [_id, { logId, position }]));
};

/** Reads the parked streams, in the order of their positions. */
export const parkedIn = async (db: Db, build: Build): Promise<readonly ParkedStream[]> => {
  const rows = await parkedOf(db, build)
    .find({ views: { $exists: true } }) // rows of an earlier release do not name the views
    .sort({ position: 1 })
    .toArray();
  return rows.map(({ views, stream, position, reason }) => ({ views, stream, position, reason }));
};
