import { DataDirectoryUnusable, OutcomeUnknown, StoreUnavailable, type Fault } from '../../kernel/fault.js';

/** Primary result codes of SQLite: https://www.sqlite.org/rescode.html */
const REASONS: Readonly<Record<number, string>> = {
  5: 'another program holds it locked',
  8: 'it is read-only',
  10: 'the disk answers with errors',
  11: 'it is damaged',
  13: 'the disk is full',
  14: 'it cannot be opened',
  26: 'it is damaged: this is not a log',
};

/**
 * The COMMIT of a transaction failed, whatever the error. SQLite writes and syncs the write-ahead log before it moves
 * the index that readers go by: the transaction may be whole in the file, and then the next start recovers it.
 */
export class CommitFailed extends Error {
  constructor(cause: unknown) {
    super(textOf(cause), { cause });
  }
}

/** Codes that the binding puts on its errors. */
type SqliteError = { readonly sqliteCode?: number; readonly systemErrno?: number };

/** The errno of a file that is not there. */
const ENOENT = 2;

const codesOf = (error: unknown): SqliteError => (error instanceof Error ? (error as SqliteError) : {});

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What is wrong with a file, in words. */
export const reasonOf = (error: unknown): string => {
  if (codesOf(error).systemErrno === ENOENT) return 'it is not there';
  const reason = REASONS[codesOf(error).sqliteCode ?? -1];
  return reason === undefined ? textOf(error) : `${reason} (${textOf(error)})`;
};

/** Whether this is SQLite's «busy»: somebody else holds the lock. */
export const isBusy = (error: unknown): boolean => codesOf(error).sqliteCode === 5;

/** Whether a write found no room. */
export const isDiskFull = (error: unknown): boolean => codesOf(error).sqliteCode === 13;

/** The fault of a failed read. */
export const readFault = (path: string, error: unknown): Fault =>
  new StoreUnavailable(`log ${path} cannot be read: ${reasonOf(error)}`, error);

/** The fault of a transaction that failed: its step decides what is known, not the error. */
export const writeFault = (path: string, error: unknown): Fault => {
  const isUnknown = error instanceof CommitFailed;
  const text = `log ${path} cannot be written: ${reasonOf(isUnknown ? error.cause : error)}`;
  return isUnknown ? new OutcomeUnknown(text, error.cause) : new StoreUnavailable(text, error);
};

/** The fault of a file that could not be opened. */
export const openFault = (path: string, error: unknown): Fault =>
  error instanceof DataDirectoryUnusable
    ? error
    : new DataDirectoryUnusable(`log ${path} cannot be used: ${reasonOf(error)}`, error);
