import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { recordsFile } from '../../../../services/auth/users/records-file.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-records-'));
let files = 0;

const place = (): string => join(directory, `records-${(files += 1)}.json`);
const open = (path: string) => recordsFile(path, 'users', z.strictObject({ hash: z.string() }));

afterAll(() => rmSync(directory, { recursive: true }));

describe('a file of records', () => {
  it('is empty where it is missing, and is read again when a command has changed it', async () => {
    const path = place();
    const [server, command] = [open(path), open(path)];
    expect((await server.read()).size).toBe(0);
    await command.change((before) => new Map(before).set('alice', { hash: 'a' }));
    expect([...(await server.read())]).toEqual([['alice', { hash: 'a' }]]);
    await command.change(() => new Map());
    expect((await server.read()).size).toBe(0);
  });

  it('is readable by its owner alone, and leaves nothing beside it', async () => {
    const path = place();
    await open(path).change(() => new Map([['alice', { hash: 'a' }]]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).filter((name) => name.startsWith(path.slice(directory.length + 1)))).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux')('is refused where its folder cannot be created', async () => {
    const records = open('/proc/flightlog/users/records.json');
    await expect(records.change((before) => before)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      message: '/proc/flightlog/users/records.json cannot be written: no folder can be created in /proc',
    });
  });

  it('is changed by one command at a time', async () => {
    const path = place();
    writeFileSync(`${path}.lock`, '');
    await expect(open(path).change((before) => before)).rejects.toThrow(`remove ${path}.lock`);
  });

  it('does not repeat its content when it is not what it should be', async () => {
    const path = place();
    writeFileSync(path, '{"users":{"alice":{"hash":5,"secret":"marked"}}}');
    await expect(open(path).read()).rejects.toThrow(`${path} is not a file of users: users.alice.hash`);
    writeFileSync(path, 'marked');
    await expect(open(path).read()).rejects.toThrow(`${path} is not a file of users`);
  });
});
