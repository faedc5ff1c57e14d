import type { ClientSession, Db, UUID } from 'mongodb';

/**
 * Registry of the sessions that write views. A writer that is killed within a transaction leaves it open: for a minute
 * the server keeps the documents that it has touched locked for other writers. Writers therefore record their sessions,
 * and a writer that makes no progress ends the transactions of the others. A live writer loses no more than one attempt
 * by this.
 */
export type Writers = {
  /** Records a session, before anything is written in it. */
  readonly note: (session: ClientSession) => Promise<void>;
  /** Records all sessions again at their next use: another writer may have ended them and deleted their records. */
  readonly forget: () => void;
  /** Ends the open transactions of all other writers. */
  readonly endOthers: () => Promise<void>;
};

type WriterRow = { readonly _id: UUID; readonly seen: Date };

const NOTE_EVERY_MS = 600_000;
/** A session that was not seen for this long cannot have an open transaction. */
const EXPIRED_AFTER_MS = 3_600_000;

/** Creates the registry of a database's writing sessions, those of this process and of others. */
export const writersIn = (db: Db): Writers => {
  const rows = db.collection<WriterRow>('writers');
  const notedAtMs = new Map<string, number>();

  const note = async (session: ClientSession): Promise<void> => {
    const id = session.id?.id as UUID | undefined;
    if (id === undefined) return;
    const notedAt = notedAtMs.get(id.toString('hex'));
    if (notedAt !== undefined && performance.now() - notedAt < NOTE_EVERY_MS) return;
    await rows.updateOne({ _id: id }, { $currentDate: { seen: true } }, { upsert: true });
    if (notedAtMs.size === 0) await rows.deleteMany({ seen: { $lt: new Date(Date.now() - EXPIRED_AFTER_MS) } });
    notedAtMs.set(id.toString('hex'), performance.now());
  };

  const endOthers = async (): Promise<void> => {
    const ids = (await rows.find().toArray()).map(({ _id }) => _id);
    const others = ids.filter((id) => !notedAtMs.has(id.toString('hex')));
    if (others.length === 0) return;
    // Every user may end their own sessions. If the server still refuses, it ends the transactions itself after a
    // minute.
    await db
      .admin()
      .command({ killSessions: others.map((id) => ({ id })) })
      .catch(() => undefined);
    await rows.deleteMany({ _id: { $in: others } });
  };

  const forget = (): void => {
    for (const id of notedAtMs.keys()) notedAtMs.set(id, -Infinity);
  };

  return { note, endOthers, forget };
};
