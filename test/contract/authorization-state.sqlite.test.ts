import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { sqliteAuthorizationState } from '../../services/store/authorization/sqlite-authorization-state.js';
import { authorizationStateContract } from './authorization-state.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-authorization-state-'));

afterAll(() => rmSync(directory, { recursive: true }));

authorizationStateContract('a data directory', () => Promise.resolve(sqliteAuthorizationState(directory)));

it('a state whose file is no database says which file that is', async () => {
  const broken = join(directory, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'authorization.db'), 'no database '.repeat(100));
  await expect(sqliteAuthorizationState(broken).keys()).rejects.toThrow(
    `the authorization state ${join(broken, 'authorization.db')} cannot be used: file is not a database`,
  );
});
