import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { hashPassword } from '../../../services/auth/users/password-hash.js';
import { usersFile } from '../../../services/auth/users/users.js';
import { clientsFile } from '../../../services/auth/server/clients.js';
import {
  addClient,
  addUser,
  changePassword,
  listClients,
  listUsers,
  removeClient,
  removeUser,
} from '../../../services/cli/principals/principals.js';
import { sqliteAuthorizationState } from '../../../services/store/authorization/sqlite-authorization-state.js';
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

it('client add prints the secret also when the audit cannot be written, and says that the change is made', async () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    mkdirSync(join(root, 'audit.db')); // in the place of the file
    await expect(addClient(withData(root), 'app', { roles: [], public: false })).rejects.toThrow(
      /^the change is made, but not recorded in the audit: the audit store .*audit\.db cannot be used/u,
    );
    expect(written.mock.calls).toEqual([[expect.stringMatching(/^\S{20,}\n$/u)]]);
    expect((await clientsFile(join(root, 'clients.json')).read()).has('app')).toBe(true);
  } finally {
    written.mockRestore();
  }
});

describe('a command that changes or removes a user', () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each<[string, (settings: Configuration) => Promise<void>]>([
    ['user passwd', (settings) => changePassword(settings, 'ada')],
    ['user remove', (settings) => removeUser(settings, 'ada')],
  ])('ends the sign-ins of this user alone: %s', async (_command, run) => {
    const password = await hashPassword('an earlier password');
    const entry = { password, roles: [] };
    await usersFile(join(root, 'users.json')).change(() => new Map([['ada', entry]]));
    const state = sqliteAuthorizationState(root);
    const token = (accountId: string) => ({
      kind: 'RefreshToken',
      key: accountId,
      content: JSON.stringify({ accountId }),
    });
    for (const account of ['ada', 'ada2'])
      await state.put({ ...token(account), grant: undefined, alias: undefined, expiresAt: undefined });
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['a password of a test\n']) as never);
    await run(withData(root));
    expect(await state.find('RefreshToken', 'ada')).toBeUndefined();
    expect(await state.find('RefreshToken', 'ada2')).toBeDefined();
    await state.close();
  });

  it('says that the sign-ins are not ended also when the audit cannot be written', async () => {
    const entry = { password: await hashPassword('an earlier password'), roles: [] };
    await usersFile(join(root, 'users.json')).change(() => new Map([['ada', entry]]));
    for (const file of ['audit.db', 'authorization.db']) mkdirSync(join(root, file)); // in the place of the file
    await expect(removeUser(withData(root), 'ada')).rejects.toThrow(
      /^the change is made, but the sign-ins of ada are not ended: the authorization state .*authorization\.db/u,
    );
  });

  it('makes no state of an authorization server where none has run', async () => {
    const entry = { password: await hashPassword('an earlier password'), roles: [] };
    await usersFile(join(root, 'users.json')).change(() => new Map([['ada', entry]]));
    await removeUser(withData(root), 'ada');
    expect(existsSync(join(root, 'authorization.db'))).toBe(false);
  });
});

describe('another command that changes the users while a password is typed', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** Standard input on which a password is typed after the change. */
  const typed = async function* (change: () => Promise<void>): AsyncGenerator<string> {
    await change();
    yield 'a password of a test\n';
  };

  const typeAfter = (change: () => Promise<void>): void => {
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(typed(change)) as never);
  };

  /** Makes an empty data directory. */
  const emptyData = (): string => {
    const data = join(root, 'data');
    mkdirSync(data);
    return data;
  };

  it('has its change of other fields kept', async () => {
    const data = emptyData();
    const file = usersFile(join(data, 'users.json'));
    const password = await hashPassword('an earlier password');
    await file.change(() => new Map([['ada', { password, roles: ['viewer'] }]]));
    typeAfter(() => file.change(() => new Map([['ada', { password, roles: ['operator'] }]])));
    await changePassword(withData(data), 'ada');
    const changed = (await file.read()).get('ada');
    expect(changed?.roles).toEqual(['operator']);
    expect(changed?.password).not.toBe(password);
  });

  it('has its user of the same name kept', async () => {
    const data = emptyData();
    const file = usersFile(join(data, 'users.json'));
    const password = await hashPassword('an earlier password');
    typeAfter(() => file.change(() => new Map([['ada', { password, roles: ['operator'] }]])));
    await expect(addUser(withData(data), 'ada', { roles: [] })).rejects.toThrow('there is a user ada already');
    expect((await file.read()).get('ada')?.password).toBe(password);
  });
});
