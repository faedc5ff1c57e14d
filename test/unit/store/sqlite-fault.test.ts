import { expect, it } from 'vitest';
import { fileProblem, isBusy } from '../../../services/store/log/sqlite-fault.js';

const sqliteError = (message: string, codes: object): Error => Object.assign(new Error(message), codes);

it.each([
  ['disk I/O error', { sqliteCode: 10 }, 'the disk answers with errors (disk I/O error)'],
  ['disk I/O error', { sqliteCode: 778 }, 'the disk answers with errors (disk I/O error)'],
  ['unable to open database file', { sqliteCode: 526, systemErrno: 13 }, 'this account may not open it'],
  ['UNIQUE constraint failed: events.id', { sqliteCode: 1555 }, 'UNIQUE constraint failed: events.id'],
])('has the reason of the primary code in an extended one: %s %j', (message, codes, problem) => {
  expect(fileProblem(sqliteError(message, codes))).toBe(problem);
});

it('is busy also while another connection recovers the file', () => {
  expect(isBusy(sqliteError('database is locked', { sqliteCode: 261 }))).toBe(true);
  expect(isBusy(new Error('database is locked'))).toBe(false);
});
