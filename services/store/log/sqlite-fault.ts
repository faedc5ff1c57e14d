import { DataDirectoryUnusable, OutcomeUnknown, StoreUnavailable, type Fault } from '../../kernel/fault.js';
import { errorText } from '../../kernel/error-text.js';

/** Primary result codes of SQLite: https://www.sqlite.org/rescode.html */
const REASONS: Readonly<Record<number, string>> = {
  5: 'another program holds it locked',
  8: 'it is read-only',
  10: 'the disk answers with errors',
  11: 'it is damaged',
  13: 'the disk is full',
  14: 'it cannot be opened',
  26: 'it is damaged',
};

/**
 * The COMMIT of a transaction failed, and its outcome is not known. SQLite writes and syncs the write-ahead log before
 * it updates the index that readers use, so the transaction may be complete in the file; the next start then recovers
 * it.
 */
export class CommitFailed extends Error {
  constructor(cause: unknown) {
    super(errorText(cause), { cause });
  }
}

/** Error codes that the SQLite binding sets on its errors. */
type SqliteError = { readonly sqliteCode?: number; readonly systemErrno?: number };

/** SQLITE_IOERR and SQLITE_CANTOPEN. After other errors, the errno may be that of an earlier one. */
const CODES_WITH_ERRNO: ReadonlySet<number> = new Set([10, 14]);

/** The problems of a file that cannot be opened, by errno: ENOENT, EACCES, ENOTDIR. */
const OPEN_REASONS: Readonly<Record<number, string>> = {
  2: 'it is not there',
  13: 'this account may not open it',
  20: 'its directory is a file',
};

const codesOf = (error: unknown): SqliteError => (error instanceof Error ? (error as SqliteError) : {});

/** The primary result code of an error; -1 for other errors. The binding gives extended codes, whose low byte it is. */
const primaryCodeOf = (error: unknown): number => {
  const { sqliteCode } = codesOf(error);
  return sqliteCode === undefined ? -1 : sqliteCode & 0xff;
};

/** Describes the problem with a file, for an error message. */
export const fileProblem = (error: unknown): string => {
  const { systemErrno = -1 } = codesOf(error);
  const code = primaryCodeOf(error);
  const openReason = CODES_WITH_ERRNO.has(code) ? OPEN_REASONS[systemErrno] : undefined;
  if (openReason !== undefined) return openReason;
  const reason = REASONS[code];
  return reason === undefined ? errorText(error) : `${reason} (${errorText(error)})`;
};

/** True for SQLITE_BUSY: another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryCodeOf(error) === 5;

/** True for SQLITE_FULL: the disk is full. */
export const isDiskFull = (error: unknown): boolean => primaryCodeOf(error) === 13;

/** The fault for a failed read. */
export const sqliteReadFault = (path: string, error: unknown): Fault =>
  new StoreUnavailable(`log ${path} cannot be read: ${fileProblem(error)}`, error);

/** The fault for a failed transaction. The outcome is unknown only after {@link CommitFailed}. */
export const writeFault = (path: string, error: unknown): Fault => {
  const isUnknown = error instanceof CommitFailed;
  const text = `log ${path} cannot be written: ${fileProblem(isUnknown ? error.cause : error)}`;
  return isUnknown ? new OutcomeUnknown(text, error.cause) : new StoreUnavailable(text, error);
};

/** The fault for a log that could not be opened. */
export const openFault = (path: string, error: unknown): Fault =>
  error instanceof DataDirectoryUnusable
    ? error
    : new DataDirectoryUnusable(`log ${path} cannot be used: ${fileProblem(error)}`, error);
