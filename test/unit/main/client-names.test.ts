import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { hashPassword } from '../../../services/auth/users/password-hash.js';
import { usersFile } from '../../../services/auth/users/users.js';
import { configure } from '../../../services/config/configuration.js';
import {
  assertAnyUser,
  assertDistinctNames,
  assertPrincipalFiles,
} from '../../../services/main/access/authorization-server.js';

describe('a client of the configuration', () => {
  let data: string;
  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'flightlog-names-'));
    const password = await hashPassword('correct horse');
    await usersFile(join(data, 'users.json')).change(() => new Map([['ada', { password, roles: [] }]]));
  });
  afterEach(() => rmSync(data, { recursive: true }));

  const settingsWith = (client: object) => {
    const server = { enabled: true, clients: [client] };
    return configure([
      { path: ['data'], value: data, origin: 'test' },
      { path: ['auth', 'server'], value: server, origin: 'test' },
    ]);
  };
  const secret = 'a secret of some length';

  it('that gets tokens for itself must not have the name of a user', async () => {
    await expect(assertDistinctNames(settingsWith({ id: 'ada', secret }))).rejects.toThrow(
      `auth.server.clients: client ada has the name of a user in auth.server.users_file (${join(data, 'users.json')})`,
    );
  });

  it('may have any other name, and that of a user when only people get tokens through it', async () => {
    await expect(assertDistinctNames(settingsWith({ id: 'propeller', secret }))).resolves.toBeUndefined();
    const web = { id: 'ada', redirect_uris: ['http://localhost/callback'] };
    await expect(assertDistinctNames(settingsWith(web))).resolves.toBeUndefined();
  });

  it('is refused beside a malformed file of clients, with the setting and the file in the error', async () => {
    const settings = settingsWith({ id: 'propeller', secret });
    await expect(assertPrincipalFiles(settings)).resolves.toBeUndefined();
    writeFileSync(join(data, 'clients.json'), '{"clients":{"web":{"roles":5}}}');
    await expect(assertPrincipalFiles(settings)).rejects.toThrow(
      `auth.server.clients_file: ${join(data, 'clients.json')} is not a file of clients: clients.web.roles`,
    );
  });
});

it.each([
  ['in the data directory', undefined, ''],
  ['elsewhere', '/nowhere/people.json', ', and the same auth.server.users_file'],
])('a server without users, whose file is %s, says which command adds the first', async (_, users, ending) => {
  const settings = configure([
    { path: ['data'], value: '/nowhere/data', origin: 'test' },
    { path: ['auth', 'server'], value: { enabled: true, users_file: users }, origin: 'test' },
  ]);
  const command = `flightlog user add NAME --roles administrator --data /nowhere/data${ending}`;
  await expect(assertAnyUser(settings)).rejects.toThrow(
    `no person can sign in: ${users ?? '/nowhere/data/users.json'} has no users; make the first administrator with: ${command}`,
  );
});
