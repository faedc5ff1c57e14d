import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { recordsFile } from '../../../../services/auth/users/records-file.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-records-'));
let files = 0;

const isRoot = process.getuid?.() === 0;
/** An account that is in one group only. */
const OPERATOR = { uid: 1_234, gid: 5_678 };

const newPath = (): string => join(directory, `records-${(files += 1)}.json`);
const open = (path: string) => recordsFile(path, 'users', z.strictObject({ hash: z.string() }));

afterAll(() => rmSync(directory, { recursive: true }));

describe('a file of records', () => {
  it('has no records when it is missing, and is read again when a command has changed it', async () => {
    const path = newPath();
    const [server, command] = [open(path), open(path)];
    expect((await server.read()).size).toBe(0);
    await command.change((before) => new Map(before).set('alice', { hash: 'a' }));
    expect([...(await server.read())]).toEqual([['alice', { hash: 'a' }]]);
    await command.change(() => new Map());
    expect((await server.read()).size).toBe(0);
  });

  it('can be read and written by its owner alone, and no lock or temporary file remains', async () => {
    const path = newPath();
    await open(path).change(() => new Map([['alice', { hash: 'a' }]]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).filter((name) => name.startsWith(path.slice(directory.length + 1)))).toHaveLength(1);
  });

  it('keeps the permissions that its operator gave it, and its owner when root changes it', async () => {
    const path = newPath();
    writeFileSync(path, '{"users":{}}');
    chmodSync(path, 0o640);
    if (isRoot) chownSync(path, 1_234, 5_678);
    const ofFile = () => [statSync(path).mode & 0o777, statSync(path).uid, statSync(path).gid];
    const before = ofFile();
    await open(path).change(() => new Map([['alice', { hash: 'a' }]]));
    expect(ofFile()).toEqual(before);
  });

  it.runIf(isRoot)('can be read by no other group than before when an operator outside its group changes it', () => {
    const shared = mkdtempSync(join(directory, 'shared-'));
    const path = join(shared, 'users.json');
    writeFileSync(path, '{"users":{}}');
    chmodSync(path, 0o640);
    chmodSync(directory, 0o755);
    for (const each of [shared, path]) chownSync(each, OPERATOR.uid, OPERATOR.gid + 1);
    const module = new URL('../../../../services/auth/users/records-file.js', import.meta.url).href;
    const change = `import * as z from '${import.meta.resolve('zod')}';
      const { recordsFile } = await import('${module}');
      await recordsFile('${path}', 'users', z.string()).change(() => new Map());`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', change], OPERATOR);
    expect([statSync(path).gid, statSync(path).mode & 0o777]).toEqual([OPERATOR.gid, 0o600]);
  });

  it.runIf(process.platform === 'linux')(
    'is not written when its folder cannot be created: the error names the folder above',
    async () => {
      const records = open('/proc/flightlog/users/records.json');
      await expect(records.change((before) => before)).rejects.toMatchObject({
        name: 'StoreUnavailable',
        message: '/proc/flightlog/users/records.json cannot be written: no folder can be created in /proc',
      });
    },
  );

  it('cannot be read when it is a folder, and the error names it', async () => {
    const path = newPath();
    mkdirSync(path);
    await expect(open(path).read()).rejects.toMatchObject({
      name: 'StoreUnavailable',
      message: expect.stringContaining(`${path} cannot be read: EISDIR`) as string,
    });
  });

  it.runIf(process.platform === 'linux')(
    'is not written in a folder that takes no files: the error names it',
    async () => {
      await expect(open('/proc/self/records.json').change((before) => before)).rejects.toMatchObject({
        name: 'StoreUnavailable',
        message: expect.stringContaining('/proc/self/records.json cannot be written: ENOENT') as string,
      });
    },
  );

  it('is not changed while its lock file exists, which the error names', async () => {
    const path = newPath();
    writeFileSync(`${path}.lock`, '');
    const added = open(path).change((before) => new Map(before).set('alice', { hash: 'a' }));
    await expect(added).rejects.toThrow(`remove ${path}.lock`);
    expect(existsSync(path)).toBe(false);
  });

  it('is refused when it is malformed, without its content in the error', async () => {
    const path = newPath();
    const repeatsNothing = () => expect(open(path).read()).rejects.not.toThrow('marked');
    writeFileSync(path, '{"users":{"alice":{"hash":5,"secret":"marked"}}}');
    await expect(open(path).read()).rejects.toThrow(`${path} is not a file of users: users.alice.hash`);
    await repeatsNothing();
    writeFileSync(path, 'marked');
    await expect(open(path).read()).rejects.toThrow(`${path} is not a file of users`);
    await repeatsNothing();
  });
});
