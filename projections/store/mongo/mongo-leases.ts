import { type AnyBulkWriteOperation, type Collection, MongoBulkWriteError } from 'mongodb';
import type { Checkpoint } from '../../../services/kernel/ports/checkpoint.js';
import { LEASE_MS, type Leases } from '../../../services/kernel/ports/leases.js';
import { type MongoConnection, connect } from './connection.js';
import { DUPLICATE_KEY } from './driver-faults.js';
import type { MongoLocation } from './location.js';

type LeaseRow = {
  readonly _id: string;
  readonly owner: string;
  readonly until: Date;
  /**
   * From the owner that described the lease last, which may be an earlier one: it counts only while `text.owner` is
   * `owner`. Absent until the first description.
   */
  readonly text?: { readonly owner: string; readonly value: string };
};
type PositionRow = { readonly _id: string; readonly logId: string; readonly position: bigint };

/** Leases in a database, and checkpoints of readers of the log. */
export type MongoLeases = Leases & {
  /** The checkpoint of the reader with this name; it reads 0n when none is stored, or one of another log. */
  checkpoint(name: string, logId: string): Checkpoint;
};

/** When the leases are opened, those that expired longer ago than this are deleted. */
const FORGOTTEN_MS = 60_000;

const startsWith = (prefix: string): RegExp => new RegExp(`^${prefix.replaceAll(/[^\w ]/gu, '\\$&')}`);

/** The server's clock, in milliseconds since 1970. */
const serverTime = async ({ db }: MongoConnection): Promise<number> => {
  const { localTime } = await db.command({ hello: 1 });
  return (localTime as Date).getTime();
};

/**
 * Takes the leases that are free or expired, and renews those that the owner has. A lease that another owner takes or
 * renews meanwhile stays with that owner.
 */
const takeFree = async (
  leases: Collection<LeaseRow>,
  names: readonly string[],
  owner: string,
  now: number,
): Promise<void> => {
  const rows = new Map((await leases.find({ _id: { $in: [...names] } }).toArray()).map((row) => [row._id, row]));
  const until = new Date(now + LEASE_MS);
  const writes = names.flatMap((name): AnyBulkWriteOperation<LeaseRow>[] => {
    const row = rows.get(name);
    if (!row) return [{ insertOne: { document: { _id: name, owner, until } } }];
    if (row.owner !== owner && row.until.getTime() > now) return [];
    const filter = { _id: name, owner: row.owner, until: row.until };
    return [{ updateOne: { filter, update: { $set: { owner, until } } } }];
  });
  if (writes.length === 0) return;
  try {
    await leases.bulkWrite(writes, { ordered: false });
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError && error.code === DUPLICATE_KEY)) throw error;
  }
};

/**
 * Leases in the database of the views, timed by the server's clock. The collection keeps the name of the first release.
 *
 * @throws {StoreUnavailable} when the server cannot be reached.
 * @throws {ReadStoreUnusable} when retrying does not help.
 */
export const mongoLeases = async (location: MongoLocation): Promise<MongoLeases> => {
  const connection = await connect(location, 2);
  const { db, guarded } = connection;
  const leases = db.collection<LeaseRow>('claims');
  const positions = db.collection<PositionRow>('positions');
  await guarded(async () => {
    const now = await serverTime(connection);
    await leases.deleteMany({ until: { $lt: new Date(now - FORGOTTEN_MS) } });
  });
  return {
    take: (names, owner) =>
      guarded(async () => {
        if (names.length === 0) return [];
        await takeFree(leases, names, owner, await serverTime(connection));
        const leased = await leases.find({ _id: { $in: [...names] }, owner }).toArray();
        return leased.map(({ _id }) => _id);
      }),
    held: (prefix) =>
      guarded(async () => {
        const now = new Date(await serverTime(connection));
        const rows = await leases.find({ _id: startsWith(prefix), until: { $gt: now } }).toArray();
        return new Map(rows.map(({ _id, owner }) => [_id, owner]));
      }),
    describe: (name, owner, value) =>
      guarded(async () => {
        await leases.updateOne({ _id: name, owner }, { $set: { text: { owner, value } } });
      }),
    descriptions: (prefix) =>
      guarded(async () => {
        const now = new Date(await serverTime(connection));
        const rows = await leases.find({ _id: startsWith(prefix), until: { $gt: now } }).toArray();
        return new Map(rows.flatMap(({ _id, owner, text }) => (text?.owner === owner ? [[_id, text.value]] : [])));
      }),
    release: (names, owner) =>
      guarded(async () => {
        await leases.deleteMany({ _id: { $in: [...names] }, owner });
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
