import { expect, it } from 'vitest';
import { DataDirectoryUnusable, StoreUnavailable } from '../../../services/kernel/fault.js';
import { retryLimit } from '../../../services/main/views/read-stores.js';

const noFile = new StoreUnavailable('there is no file yet');
const noTable = new DataDirectoryUnusable('a table is missing');

it('a missing table is waited for during 40 attempts, however long there was no file before', () => {
  const isGivenUp = retryLimit();
  const answers = [...Array.from({ length: 100 }, () => noFile), ...Array.from({ length: 41 }, () => noTable)];
  expect(answers.map(isGivenUp)).toEqual([...Array.from({ length: 140 }, () => false), true]);
});
