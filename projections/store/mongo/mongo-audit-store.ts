import { type ClientSession, type Collection, type Filter, MongoError, type UpdateFilter } from 'mongodb';
import { OutcomeUnknown, WriteRefused } from '../../../services/kernel/fault.js';
import type {
  AuditEntry,
  AuditQuery,
  AuditStore,
  StoredAuditEntry,
} from '../../../services/kernel/ports/audit-trail.js';
import { connect } from './connection.js';
import { isRefusedWrite } from './driver-faults.js';
import type { MongoLocation } from './location.js';

/** A stored entry; the first one of a batch has the key of the batch. */
type EntryRow = Omit<AuditEntry, 'position'> & {
  readonly _id: bigint;
  readonly position: bigint | null;
  readonly batch?: string;
};

/** The last id that was given to an entry. */
type SequenceRow = { readonly _id: 'entries'; readonly last: bigint };

const CONNECTIONS = 4;

const indexed = async (entries: Collection<EntryRow>): Promise<void> => {
  await entries.createIndexes([
    { key: { lastAtMs: 1, _id: 1 } },
    { key: { project: 1, _id: 1 } },
    { key: { principal: 1, _id: 1 } },
    { key: { batch: 1 }, sparse: true },
  ]);
};

const rowOf = (entry: AuditEntry, id: bigint): EntryRow => ({ _id: id, ...entry, position: entry.position ?? null });

const entryOf = ({ _id: id, position, batch: _, ...same }: EntryRow): StoredAuditEntry => ({
  ...same,
  id,
  position: position ?? undefined,
});

const conditionOf = ({ project, domain, actor, sinceMs, after }: AuditQuery): Filter<EntryRow> => ({
  _id: { $gt: after },
  lastAtMs: { $gte: sinceMs },
  ...(project !== '' && { project }),
  ...(domain !== '' && { domain }),
  ...(actor !== '' && { principal: actor }),
});

/**
 * @throws {OutcomeUnknown} for a commit that may have been carried out.
 * @throws {WriteRefused} for entries that the server would refuse again; other errors are thrown as they are.
 */
const notCommitted = (error: unknown): never => {
  if (error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult'))
    throw new OutcomeUnknown('the read store has not said whether it has the audit entries', error);
  if (isRefusedWrite(error))
    throw new WriteRefused(`the read store refuses audit entries: ${(error as Error).message}`, error);
  throw error;
};

/**
 * Opens the audit entries in a database, which processes of several machines share. A batch takes its ids and is stored
 * in one transaction, and the sequence of ids is changed by one transaction at a time: so entries become visible in the
 * order of their ids, and a reader that continues after an id misses none. The driver repeats a transaction that was
 * rolled back, and a commit whose outcome is unknown, for two minutes. A batch with the key of a stored one is not
 * stored.
 *
 * @throws {StoreUnavailable} when the server cannot be reached, also from every method.
 * @throws {ReadStoreUnusable} when retrying does not help.
 */
export const mongoAuditStore = async (location: MongoLocation): Promise<AuditStore> => {
  const { client, db, guarded, close } = await connect(location, CONNECTIONS);
  const entries = db.collection<EntryRow>('audit');
  const sequence = db.collection<SequenceRow>('audit_sequence');
  const begin: UpdateFilter<SequenceRow> = { $setOnInsert: { last: 0n } };
  await guarded(async () => {
    await indexed(entries);
    await sequence.updateOne({ _id: 'entries' }, begin, { upsert: true });
  });
  const add = async (batch: readonly AuditEntry[], key: string | undefined, session: ClientSession): Promise<void> => {
    const added = { $inc: { last: BigInt(batch.length) } };
    const before = await sequence.findOneAndUpdate({ _id: 'entries' }, added, { session });
    if (key !== undefined && (await entries.findOne({ batch: key }, { session }))) return;
    const first = (before?.last ?? 0n) + 1n;
    const rows = batch.map((entry, index) => ({
      ...rowOf(entry, first + BigInt(index)),
      ...(index === 0 && key !== undefined && { batch: key }),
    }));
    await entries.insertMany(rows, { session });
  };
  return {
    write: (batch, key) =>
      guarded(() =>
        client.withSession((session) => session.withTransaction(() => add(batch, key, session))).catch(notCommitted),
      ),
    list: (query) =>
      guarded(async () => {
        const rows = await entries.find(conditionOf(query)).sort({ _id: 1 }).limit(query.limit).toArray();
        return rows.map(entryOf);
      }),
    removeBefore: (ms) =>
      guarded(async () => {
        await entries.deleteMany({ lastAtMs: { $lt: ms } });
      }),
    close,
  };
};
