import { setTimeout } from 'node:timers/promises';
import { type ClientSession, type MongoClient, MongoError, MongoServerError } from 'mongodb';

/** Attempts at a transaction that is rolled back, before the error is thrown. */
const MAX_ATTEMPTS = 8;
const MAX_PAUSE_MS = 2_000;

/** A transaction that can be repeated safely: a repetition detects whether an earlier attempt was committed. */
export type Transaction = {
  /** Does the work in the session; returns false when nothing is left to do, and the transaction is then aborted. */
  readonly run: (session: ClientSession) => Promise<boolean>;
  /** Called when the outcome is unknown, with the number of the attempt. */
  readonly onUnknown: (error: unknown, times: number) => void;
  /**
   * Called when the server has rolled the transaction back, with the number of the attempt; the next attempt follows
   * when the promise resolves.
   */
  readonly onRolledBack: (times: number) => Promise<void>;
  /** True when the caller has given up on the outcome. */
  readonly isGivenUp: () => boolean;
};

type Outcome = { readonly is: 'done' } | { readonly is: 'rolled back' | 'unknown'; readonly error: unknown };

const isLabelled = (error: unknown, label: string): boolean =>
  error instanceof MongoError && error.hasErrorLabel(label);

const TRANSIENT = 'TransientTransactionError';
const UNKNOWN = 'UnknownTransactionCommitResult';

/** Server error code `NoSuchTransaction`: the transaction was lost before its commit. */
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
  // The write concern (majority) is that of the client.
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
 * Runs a transaction until it is known to be committed. A transaction that was rolled back is tried again a few times.
 * While it is unknown whether it was committed, it is repeated until that is known or the caller has given up, however
 * long the server is away: an earlier failure would be reported for something that may have been done.
 *
 * @throws the error of the last attempt.
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
        // A failed attempt says nothing about the outcome of the one before it.
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
