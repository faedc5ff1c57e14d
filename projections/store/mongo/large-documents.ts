import type { Binary, ClientSession, Collection as MongoCollection, Db } from 'mongodb';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { bytesOf, type Lengths, type Row, type Written } from './documents.js';
import { type Build, ofBuild } from './names.js';

/** A piece of the bytes of a document that is too large to be one of the server's. */
type Part<Bytes> = { readonly _id: string; readonly bytes: Bytes };

/** Half of what the server takes, so that there is room for fields beside it. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_LOOKS = 5;

const partsOf = <Bytes>(db: Db, build: Build): MongoCollection<Part<Bytes>> =>
  db.collection<Part<Bytes>>(ofBuild('parts', build));

const sumOf = ({ element, answer = 0, state = 0 }: Lengths): number => element + answer + state;

/** What tells one version of a document from another. */
type Version = Pick<Row, '_id' | 'position' | 'rewrites' | 'large'>;

/** Which parts a row has: each version of a document has its own, so that nobody joins those of two. */
const idsOf = (name: string, { _id, position, rewrites, large }: Version): readonly string[] => {
  if (large === undefined) return [];
  const version = `${name}/${_id}@${position}${rewrites === undefined ? '' : `.${rewrites}`}`;
  return Array.from({ length: Math.ceil(sumOf(large) / PART_BYTES) }, (_, at) => `${version}#${at}`);
};

const lengthsOf = ({ element, answer, state }: Written): Lengths => ({
  element: element.length,
  ...(answer && { answer: answer.length }),
  ...(state && { state: state.length }),
});

/** A row as it is stored, and the parts that go beside it: none where it is small enough. */
export const divided = (name: string, row: Written): { row: Written; parts: readonly Part<Uint8Array>[] } => {
  const large = lengthsOf(row);
  if (sumOf(large) <= PART_BYTES) return { row, parts: [] };
  const { element, answer, state, ...rest } = row;
  const bytes = Buffer.concat([element, ...(answer ? [answer] : []), ...(state ? [state] : [])]);
  const stored: Written = { ...rest, element: new Uint8Array(), large };
  const parts = idsOf(name, stored).map((id, at) => ({
    _id: id,
    bytes: bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES),
  }));
  return { row: stored, parts };
};

/** A transaction in a build of the views. */
type Place = { readonly db: Db; readonly build: Build; readonly session: ClientSession };

/**
 * Writes parts ahead of the transaction that names them, which could grow too large for the server. Nobody asks for them
 * before it is committed; and whoever does the same again writes the same, since a document is what the log makes of it.
 */
export const putParts = async (
  { db, build }: Pick<Place, 'db' | 'build'>,
  parts: readonly Part<Uint8Array>[],
): Promise<void> => {
  for (const { _id, bytes } of parts)
    await partsOf<Uint8Array>(db, build).replaceOne({ _id }, { bytes }, { upsert: true });
};

/** Removes the parts of rows that are replaced. */
export const removeParts = async (
  { db, build, session }: Place,
  name: string,
  replaced: readonly Version[],
): Promise<void> => {
  const ids = replaced.flatMap((row) => idsOf(name, row));
  if (ids.length > 0) await partsOf(db, build).deleteMany({ _id: { $in: ids } }, { session });
};

type Bytes = Pick<Written, 'element' | 'answer' | 'state'>;

const cut = (bytes: Uint8Array, { element, answer, state }: Lengths): Bytes => {
  const afterAnswer = element + (answer ?? 0);
  return {
    element: bytes.subarray(0, element),
    ...(answer !== undefined && { answer: bytes.subarray(element, afterAnswer) }),
    ...(state !== undefined && { state: bytes.subarray(afterAnswer, afterAnswer + state) }),
  };
};

const own = ({ element, answer, state }: Pick<Row, 'element' | 'answer' | 'state'>): Bytes => ({
  element: bytesOf(element),
  ...(answer && { answer: bytesOf(answer) }),
  ...(state && { state: bytesOf(state) }),
});

/** What a row has to have to be joined with its parts. */
export type Loadable = Version & Pick<Row, 'element' | 'answer' | 'state'>;

/**
 * The bytes of a row, wherever they are. One that is replaced while its parts are read is read again.
 *
 * @throws {StoreUnavailable} when it is replaced again and again.
 */
export const loaded = async (db: Db, build: Build, name: string, found: Loadable): Promise<Bytes> => {
  let row: Loadable = found;
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    if (row.large === undefined) return own(row);
    const ids = idsOf(name, row);
    const parts = await partsOf<Binary>(db, build)
      .find({ _id: { $in: [...ids] } })
      .toArray();
    const byId = new Map(parts.map(({ _id, bytes }) => [_id, bytesOf(bytes)]));
    const pieces = ids.flatMap((id) => byId.get(id) ?? []);
    if (pieces.length === ids.length) return cut(new Uint8Array(Buffer.concat(pieces)), row.large);
    row = (await db.collection<Row>(name).findOne({ _id: row._id })) ?? row;
  }
  throw new StoreUnavailable(`a large document of ${name} is replaced again and again`);
};
