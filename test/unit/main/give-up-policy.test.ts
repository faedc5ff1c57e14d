import { expect, it } from 'vitest';
import { DataDirectoryUnusable, StoreUnavailable } from '../../../services/kernel/fault.js';
import { giveUpPolicy } from '../../../services/main/views/read-stores.js';

const noFile = new StoreUnavailable('there is no file yet');
const noTable = new DataDirectoryUnusable('a table is missing');

it('a missing table is waited for during 40 attempts, however long there was no file before', () => {
  const isGivenUp = giveUpPolicy();
  for (let attempt = 0; attempt < 100; attempt += 1) expect(isGivenUp(noFile)).toBe(false);
  for (let attempt = 0; attempt < 40; attempt += 1) expect(isGivenUp(noTable)).toBe(false);
  expect(isGivenUp(noTable)).toBe(true);
});
