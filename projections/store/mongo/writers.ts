import type { ClientSession, Db, UUID } from 'mongodb';

/**
 * The sessions that views are written in. A writer that is killed within a transaction leaves it open: the server keeps
 * what it has touched for a minute, and nobody else can write that. Writers therefore leave word of their sessions, and
 * one that gets nowhere ends what others have open. To one that lives this costs an attempt, and nothing else.
 */
export type Writers = {
  /** Leaves word of a session, before anything is written in it. */
  readonly note: (session: ClientSession) => Promise<void>;
  /** Leaves word of all sessions anew when they are used again: somebody may have ended them. */
  readonly forget: () => void;
  /** Ends the transactions of all others. */
  readonly endOthers: () => Promise<void>;
};

type WriterRow = { readonly _id: UUID; readonly seen: Date };

const NOTE_EVERY_MS = 600_000;
/** Of a session that was not seen for so long nothing can be open. */
const GONE_MS = 3_600_000;

/** The sessions of a database that views are written in, those of this process and of others. */
export const writersIn = (db: Db): Writers => {
  const rows = db.collection<WriterRow>('writers');
  const own = new Map<string, number>();

  const note = async (session: ClientSession): Promise<void> => {
    const id = session.id?.id as UUID | undefined;
    if (id === undefined) return;
    const notedAt = own.get(id.toString('hex'));
    if (notedAt !== undefined && performance.now() - notedAt < NOTE_EVERY_MS) return;
    await rows.updateOne({ _id: id }, { $currentDate: { seen: true } }, { upsert: true });
    if (own.size === 0) await rows.deleteMany({ seen: { $lt: new Date(Date.now() - GONE_MS) } });
    own.set(id.toString('hex'), performance.now());
  };

  const endOthers = async (): Promise<void> => {
    const ids = (await rows.find().toArray()).map(({ _id }) => _id);
    const others = ids.filter((id) => !own.has(id.toString('hex')));
    if (others.length === 0) return;
    // Every user may end the sessions of his own; a server that refuses it all the same ends them itself, in a minute.
    await db
      .admin()
      .command({ killSessions: others.map((id) => ({ id })) })
      .catch(() => undefined);
    await rows.deleteMany({ _id: { $in: others } });
  };

  const forget = (): void => {
    for (const id of own.keys()) own.set(id, -Infinity);
  };

  return { note, endOthers, forget };
};
