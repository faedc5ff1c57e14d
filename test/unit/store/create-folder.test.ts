import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createFolder, createPrivateFolder } from '../../../services/store/create-folder.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-folders-'));
afterAll(() => rmSync(directory, { recursive: true }));

const creators = {
  createFolder,
  createPrivateFolder: async (path: string): Promise<void> => {
    await Promise.resolve();
    createPrivateFolder(path);
  },
};

describe.each(Object.entries(creators))('a folder made by %s', (name, create) => {
  it('is created with those above it, and is left as it is the second time', async () => {
    const path = join(directory, name, 'a', 'b');
    for (let times = 0; times < 2; times += 1) await create(path);
    expect(statSync(path).isDirectory()).toBe(true);
    if (name === 'createPrivateFolder') expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it('is refused below a file, and at a link to something that is gone', async () => {
    const [file, link] = [join(directory, `${name}-file`), join(directory, `${name}-link`)];
    writeFileSync(file, '');
    symlinkSync(join(directory, 'gone'), link);
    await expect(create(join(file, 'a'))).rejects.toThrow(/ENOTDIR|EEXIST/u);
    await expect(create(link)).rejects.toThrow(`${link} is a symbolic link to something that does not exist`);
  });

  it.runIf(process.platform === 'linux')('is refused where the system creates none', async () => {
    await expect(create('/proc/flightlog/a')).rejects.toThrow('no folder can be created in /proc');
  });
});
