import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  changePassword,
  listClients,
  listUsers,
  removeClient,
  removeUser,
} from '../../../services/cli/principals/principals.js';
import { type Configuration, configure } from '../../../services/config/configuration.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'flightlog-principals-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const withData = (data: string): Configuration => configure([{ path: ['data'], value: data, origin: '--data' }]);

describe.each<[string, 'users' | 'clients', (settings: Configuration) => Promise<void>]>([
  ['user list', 'users', listUsers],
  ['user remove', 'users', (settings) => removeUser(settings, 'ada')],
  ['user passwd', 'users', (settings) => changePassword(settings, 'ada')],
  ['client list', 'clients', listClients],
  ['client remove', 'clients', (settings) => removeClient(settings, 'ada')],
])('%s', (command, which, run) => {
  it('names a data directory that does not exist, and does not make it', async () => {
    const missing = join(root, 'missing');
    await expect(run(withData(missing))).rejects.toThrow(
      `there is no directory ${missing}, where the ${which} file would be`,
    );
    expect(existsSync(missing)).toBe(false);
  });

  it('takes a data directory without the file', async () => {
    const data = join(root, 'data');
    mkdirSync(data);
    const done = run(withData(data));
    await (command.endsWith('list') ? done : expect(done).rejects.toThrow(/^there is no (user|client) ada$/u));
  });
});
