import { setTimeout } from 'node:timers/promises';
import { type ClientSession, type MongoClient, MongoError, MongoServerError } from 'mongodb';

/** How often a transaction that was rolled back is tried before the caller hears of it. */
const MAX_ATTEMPTS = 8;
const MAX_PAUSE_MS = 2_000;

/** A transaction whose outcome can be asked for: done again, it finds that it was done. */
export type Transaction = {
  /** Works in the session; answers false where there is nothing left to do, which is rolled back. */
  readonly run: (session: ClientSession) => Promise<boolean>;
  /** Called when the outcome is not known, the how manieth time in a row. */
  readonly onUnknown: (error: unknown, times: number) => void;
  /** Called when the server has rolled it back, the how manieth time it was tried; it is tried again after that. */
  readonly onRolledBack: (times: number) => Promise<void>;
  /** True when nobody waits for the outcome any more. */
  readonly isGivenUp: () => boolean;
};

type Outcome = { readonly is: 'done' } | { readonly is: 'rolled back' | 'unknown'; readonly error: unknown };

const isLabelled = (error: unknown, label: string): boolean =>
  error instanceof MongoError && error.hasErrorLabel(label);

const TRANSIENT = 'TransientTransactionError';
const UNKNOWN = 'UnknownTransactionCommitResult';

/** The server has lost the transaction before it was committed. */
const NO_SUCH_TRANSACTION = 251;

const committed = async (session: ClientSession): Promise<Outcome> => {
  try {
    await session.commitTransaction();
    return { is: 'done' };
  } catch (error) {
    if (isLabelled(error, UNKNOWN)) return { is: 'unknown', error };
    const isLost = error instanceof MongoServerError && error.code === NO_SUCH_TRANSACTION;
    if (isLost || isLabelled(error, TRANSIENT)) return { is: 'rolled back', error };
    throw error;
  }
};

const attempted = async (session: ClientSession, run: Transaction['run']): Promise<Outcome> => {
  // Writes are the client's to be confirmed: by the majority.
  session.startTransaction({ readConcern: { level: 'snapshot' } });
  try {
    if (!(await run(session))) {
      await session.abortTransaction();
      return { is: 'done' };
    }
  } catch (error) {
    await session.abortTransaction().catch(() => undefined);
    if (isLabelled(error, TRANSIENT)) return { is: 'rolled back', error };
    throw error;
  }
  return committed(session);
};

const pause = (times: number): Promise<void> => setTimeout(Math.min(5 * 2 ** times, MAX_PAUSE_MS));

/**
 * Runs a transaction until it is known to be done. One that was rolled back is tried again a few times. Where nobody
 * knows whether it was committed, it is run again until that is found out, however long the server is away: to give up
 * would be to call failed what may have been done.
 *
 * @throws the driver's error when nothing was done.
 */
export const settled = async (
  client: MongoClient,
  { run, onUnknown, onRolledBack, isGivenUp }: Transaction,
): Promise<void> => {
  let isUnknown = false;
  for (let times = 1; ; times += 1) {
    const outcome = await client
      .withSession((session) => attempted(session, run))
      .catch((error: unknown): Outcome => {
        // An attempt that failed outright says nothing of the one before it.
        if (isUnknown && error instanceof MongoError) return { is: 'unknown', error };
        throw error;
      });
    if (outcome.is === 'done') return;
    isUnknown ||= outcome.is === 'unknown';
    if (isUnknown) onUnknown(outcome.error, times);
    if (isGivenUp() || (!isUnknown && times >= MAX_ATTEMPTS)) throw outcome.error;
    if (outcome.is === 'rolled back') await onRolledBack(times);
    await pause(times);
  }
};
