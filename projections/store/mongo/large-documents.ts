import type { Binary, ClientSession, Collection as MongoCollection, Db } from 'mongodb';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { bytesOfBinary, type MessageLengths, type Row, type DriverRow } from './documents.js';
import { type Build, CHUNKS, ofBuild } from './names.js';

/** A chunk of a document whose messages have more than `CHUNK_BYTES`. */
type Chunk<Bytes> = { readonly _id: string; readonly bytes: Bytes };

/** Chunk size: half of the server's limit for a document, which leaves space for other fields. */
const CHUNK_BYTES = 8 * 1024 * 1024;
const MAX_ATTEMPTS = 5;

const chunksOf = <Bytes>(db: Db, build: Build): MongoCollection<Chunk<Bytes>> =>
  db.collection<Chunk<Bytes>>(ofBuild(CHUNKS, build));

const sumOf = ({ element, answer = 0, state = 0 }: MessageLengths): number => element + answer + state;

/** The fields that identify one version of a document. */
type Version = Pick<Row, '_id' | 'position' | 'rewrites' | 'large'>;

/**
 * The chunk IDs of a row. Each version of a document has its own chunks, so that a reader never combines those of two
 * versions.
 */
const idsOf = (name: string, { _id, position, rewrites, large }: Version): readonly string[] => {
  if (large === undefined) return [];
  const version = `${name}/${_id}@${position}${rewrites === undefined ? '' : `.${rewrites}`}`;
  return Array.from({ length: Math.ceil(sumOf(large) / CHUNK_BYTES) }, (_, at) => `${version}#${at}`);
};

const lengthsOf = ({ element, answer, state }: DriverRow): MessageLengths => ({
  element: element.length,
  ...(answer && { answer: answer.length }),
  ...(state && { state: state.length }),
});

/** Splits a row that is too large into the stored row and its chunks; a small row has no chunks. */
export const split = (name: string, row: DriverRow): { row: DriverRow; chunks: readonly Chunk<Uint8Array>[] } => {
  const large = lengthsOf(row);
  if (sumOf(large) <= CHUNK_BYTES) return { row, chunks: [] };
  const { element, answer, state, ...rest } = row;
  const bytes = Buffer.concat([element, ...(answer ? [answer] : []), ...(state ? [state] : [])]);
  const stored: DriverRow = { ...rest, element: new Uint8Array(), large };
  const chunks = idsOf(name, stored).map((id, at) => ({
    _id: id,
    bytes: bytes.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES),
  }));
  return { row: stored, chunks };
};

/** A transaction on one build of the views. */
export type BuildSession = { readonly db: Db; readonly build: Build; readonly session: ClientSession };

/**
 * Writes chunks outside the transaction that refers to them, because within it they could exceed the server's cache.
 * They are not read before the transaction commits, and a retry writes the same bytes, since a document depends only on
 * the log.
 */
export const putChunks = async (
  { db, build }: Pick<BuildSession, 'db' | 'build'>,
  chunks: readonly Chunk<Uint8Array>[],
): Promise<void> => {
  for (const { _id, bytes } of chunks)
    await chunksOf<Uint8Array>(db, build).replaceOne({ _id }, { bytes }, { upsert: true });
};

/** Deletes the chunks of rows that are replaced. */
export const removeChunks = async (
  { db, build, session }: BuildSession,
  name: string,
  replaced: readonly Version[],
): Promise<void> => {
  const ids = replaced.flatMap((row) => idsOf(name, row));
  if (ids.length > 0) await chunksOf(db, build).deleteMany({ _id: { $in: ids } }, { session });
};

type Bytes = Pick<DriverRow, 'element' | 'answer' | 'state'>;

const sliceFields = (bytes: Uint8Array, { element, answer, state }: MessageLengths): Bytes => {
  const afterAnswer = element + (answer ?? 0);
  return {
    element: bytes.subarray(0, element),
    ...(answer !== undefined && { answer: bytes.subarray(element, afterAnswer) }),
    ...(state !== undefined && { state: bytes.subarray(afterAnswer, afterAnswer + state) }),
  };
};

const contentsOf = ({ element, answer, state }: Pick<Row, 'element' | 'answer' | 'state'>): Bytes => ({
  element: bytesOfBinary(element),
  ...(answer && { answer: bytesOfBinary(answer) }),
  ...(state && { state: bytesOfBinary(state) }),
});

/** The fields of a row that loading its bytes needs. */
export type Loadable = Version & Pick<Row, 'element' | 'answer' | 'state'>;

/**
 * Loads the bytes of a row, from the row itself or its chunks. A row that is replaced while its chunks are read is read
 * again.
 *
 * @returns the bytes, with the row that they belong to.
 * @throws {StoreUnavailable} when chunks were missing at each of five attempts.
 */
export const loaded = async <Found extends Loadable>(
  db: Db,
  build: Build,
  name: string,
  found: Found,
): Promise<{ readonly row: Found | Row; readonly bytes: Bytes }> => {
  let row: Found | Row = found;
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    if (row.large === undefined) return { row, bytes: contentsOf(row) };
    const ids = idsOf(name, row);
    const chunks = await chunksOf<Binary>(db, build)
      .find({ _id: { $in: [...ids] } })
      .toArray();
    const byId = new Map(chunks.map(({ _id, bytes }) => [_id, bytesOfBinary(bytes)]));
    const pieces = ids.flatMap((id) => byId.get(id) ?? []);
    if (pieces.length === ids.length)
      return { row, bytes: sliceFields(new Uint8Array(Buffer.concat(pieces)), row.large) };
    row = (await db.collection<Row>(name).findOne({ _id: row._id })) ?? row;
  }
  throw new StoreUnavailable(`a large document of ${name} was replaced during each of ${MAX_ATTEMPTS} reads`);
};
