import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { hashPassword, isPassword } from '../../../services/auth/users/password-hash.js';
import { type User, usersFile } from '../../../services/auth/users/users.js';
import { withAccess } from '../../../services/cli/sandbox/sandbox-access.js';
import { configure } from '../../../services/config/configuration.js';
import { lockDataDirectory } from '../../../services/store/data-directory.js';

/** The parameters of scrypt with a small cost. */
const CHEAP = { ln: 4, r: 8, p: 1 };

const data = mkdtempSync(join(tmpdir(), 'flightlog-sandbox-access-'));
afterAll(() => rmSync(data, { recursive: true }));

it('the sandbox replaces the user that its last run has written, and no other user', async () => {
  const file = usersFile(join(data, 'users.json'));
  const password = await hashPassword('of a person', CHEAP);
  const person: User = { password, roles: ['viewer'] };
  await file.change(() => new Map([['admin', person]]));
  const configuration = { ...configure([]), data };
  const first = await withAccess(configuration);
  const second = await withAccess(configuration);
  expect([first.access.user.id, second.access.user.id]).toEqual(['sandbox-admin', 'sandbox-admin']);
  const users = await file.read();
  expect([...users.keys()]).toEqual(['admin', 'sandbox-admin']);
  expect(users.get('admin')).toEqual(person);
  expect(await isPassword(second.access.user.secret, users.get('sandbox-admin')?.password)).toBe(true);
  await file.change((before) => new Map(before).set('sandbox-admin', person));
  await expect(withAccess(configuration)).rejects.toThrow('has users admin and sandbox-admin');
});

it('a second sandbox does not replace the password of one that runs on the same data', async () => {
  const running = join(data, 'running');
  const configuration = { ...configure([]), data: running };
  const { access } = await withAccess(configuration);
  const lock = await lockDataDirectory(running);
  await expect(withAccess(configuration)).rejects.toThrow(`data: data directory ${running} is in use`);
  lock.release();
  const users = await usersFile(join(running, 'users.json')).read();
  expect(await isPassword(access.user.secret, users.get('admin')?.password)).toBe(true);
});
