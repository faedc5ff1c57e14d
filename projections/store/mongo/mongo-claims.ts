import { type AnyBulkWriteOperation, type Collection, MongoBulkWriteError } from 'mongodb';
import type { Checkpoint } from '../../../services/kernel/ports/checkpoint.js';
import { CLAIM_MS, type Claims } from '../../../services/kernel/ports/claims.js';
import { type Connection, connect } from './connection.js';
import type { MongoLocation } from './location.js';

type ClaimRow = { readonly _id: string; readonly owner: string; readonly until: Date };
type PositionRow = { readonly _id: string; readonly logId: string; readonly position: bigint };

/** Claims in a database, and what else is known there of who acts on a log. */
export type MongoClaims = Claims & {
  /** The checkpoint of something that acts on a log; of another log than before, it begins anew. */
  checkpoint(name: string, logId: string): Checkpoint;
};

const DUPLICATE_KEY = 11_000;
/** Claims of those who are long gone. */
const FORGOTTEN_MS = 60_000;

const begins = (prefix: string): RegExp => new RegExp(`^${prefix.replaceAll(/[^\w ]/gu, '\\$&')}`);

/** The clock of the server. */
const serverTime = async ({ db }: Connection): Promise<number> => {
  const { localTime } = await db.command({ hello: 1 });
  return (localTime as Date).getTime();
};

/** A claim that somebody else has taken meanwhile, or renewed, is left alone. */
const takeFree = async (
  claims: Collection<ClaimRow>,
  names: readonly string[],
  owner: string,
  now: number,
): Promise<void> => {
  const rows = new Map((await claims.find({ _id: { $in: [...names] } }).toArray()).map((row) => [row._id, row]));
  const until = new Date(now + CLAIM_MS);
  const writes = names.flatMap((name): AnyBulkWriteOperation<ClaimRow>[] => {
    const row = rows.get(name);
    if (!row) return [{ insertOne: { document: { _id: name, owner, until } } }];
    if (row.owner !== owner && row.until.getTime() > now) return [];
    const filter = { _id: name, owner: row.owner, until: row.until };
    return [{ updateOne: { filter, update: { $set: { owner, until } } } }];
  });
  if (writes.length === 0) return;
  try {
    await claims.bulkWrite(writes, { ordered: false });
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError && error.code === DUPLICATE_KEY)) throw error;
  }
};

/**
 * Claims in the database of the views, by the server's clock.
 *
 * @throws {StoreUnavailable} when it cannot be reached.
 * @throws {ReadStoreUnusable} when waiting for it does not help.
 */
export const mongoClaims = async (location: MongoLocation): Promise<MongoClaims> => {
  const connection = await connect(location, 2);
  const { db, guarded } = connection;
  const claims = db.collection<ClaimRow>('claims');
  const positions = db.collection<PositionRow>('positions');
  await guarded(async () => {
    const now = await serverTime(connection);
    await claims.deleteMany({ until: { $lt: new Date(now - FORGOTTEN_MS) } });
  });
  return {
    take: (names, owner) =>
      guarded(async () => {
        if (names.length === 0) return [];
        await takeFree(claims, names, owner, await serverTime(connection));
        const own = await claims.find({ _id: { $in: [...names] }, owner }).toArray();
        return own.map(({ _id }) => _id);
      }),
    held: (prefix) =>
      guarded(async () => {
        const now = new Date(await serverTime(connection));
        const rows = await claims.find({ _id: begins(prefix), until: { $gt: now } }).toArray();
        return new Map(rows.map(({ _id, owner }) => [_id, owner]));
      }),
    release: (names, owner) =>
      guarded(async () => {
        await claims.deleteMany({ _id: { $in: [...names] }, owner });
      }),
    checkpoint: (name, logId) => ({
      read: () =>
        guarded(async () => {
          const row = await positions.findOne({ _id: name });
          return row?.logId === logId ? row.position : 0n;
        }),
      write: (position) =>
        guarded(async () => {
          await positions.replaceOne({ _id: name }, { logId, position }, { upsert: true });
        }),
    }),
    close: () => connection.close(),
  };
};
