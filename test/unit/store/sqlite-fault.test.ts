import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { fileProblem, isBusy } from '../../../services/store/log/sqlite-fault.js';

/** Result codes of SQLite. The low byte of an extended code, such as IOERR_WRITE, is its primary code, here IOERR. */
const IOERR = 10;
const IOERR_WRITE = 778;
const CANTOPEN_ISDIR = 526;
const CONSTRAINT_PRIMARYKEY = 1555;
const BUSY_RECOVERY = 261;

const sqliteError = (message: string, codes: object): Error => Object.assign(new Error(message), codes);

describe('an error of SQLite', () => {
  it.each([
    ['disk I/O error', { sqliteCode: IOERR }, 'the disk answers with errors (disk I/O error)'],
    ['disk I/O error', { sqliteCode: IOERR_WRITE }, 'the disk answers with errors (disk I/O error)'],
    [
      'unable to open database file',
      { sqliteCode: CANTOPEN_ISDIR, systemErrno: constants.errno.EACCES },
      'this account may not open it',
    ],
    [
      'UNIQUE constraint failed: events.id',
      { sqliteCode: CONSTRAINT_PRIMARYKEY },
      'UNIQUE constraint failed: events.id',
    ],
  ])('is explained by its primary code, if that is known, or by its text: %s %j', (message, codes, problem) => {
    expect(fileProblem(sqliteError(message, codes))).toBe(problem);
  });

  it('says that the file is busy also while another connection recovers the file', () => {
    expect(isBusy(sqliteError('database is locked', { sqliteCode: BUSY_RECOVERY }))).toBe(true);
    expect(isBusy(new Error('database is locked'))).toBe(false);
  });
});
