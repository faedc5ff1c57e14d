import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asError } from '../../../services/kernel/error-text.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { directoryFiles } from '../../../services/store/backup/backup-files.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-backup-files-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the files of a data directory in a backup', () => {
  it('are those that exist', async () => {
    writeFileSync(join(directory, 'users.json'), '[]');
    expect([...(await directoryFiles(directory).find())]).toEqual([['users.json', { sizeBytes: 2 }]]);
  });

  it('fail the backup when one exists and cannot be looked up', async () => {
    symlinkSync('users.json', join(directory, 'users.json')); // a link to itself
    const failure = await directoryFiles(directory).find().catch(asError);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ cause: { code: 'ELOOP' } });
    expect((failure as Error).message).toContain(`${join(directory, 'users.json')} cannot be backed up: ELOOP`);
  });

  it('fail the backup when one cannot be read', async () => {
    mkdirSync(join(directory, 'link.key'));
    const read = async (): Promise<void> => {
      for await (const chunk of directoryFiles(directory).chunks('link.key', { sizeBytes: 44 })) void chunk;
    };
    const failure = await read().catch(asError);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect((failure as Error).message).toContain(`${join(directory, 'link.key')} cannot be backed up: EISDIR`);
  });

  it('have the uploads behind symbolic links, by each path to them, but no folder inside itself', async () => {
    const [disk, files] = [join(directory, 'disk'), join(directory, 'files')];
    for (const folder of [join(disk, 'project'), files]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(disk, 'project', 'code'), 'code');
    symlinkSync(disk, join(files, 'uploads'));
    symlinkSync(join(disk, 'project', 'code'), join(files, 'orgs'));
    symlinkSync('..', join(disk, 'project', 'above'));
    // Each of two folders has a link to the other.
    for (const [here, there] of [
      ['left', 'right'],
      ['right', 'left'],
    ] as const) {
      mkdirSync(join(files, here));
      symlinkSync(join('..', there), join(files, here, 'other'));
    }
    writeFileSync(join(files, 'left', 'one'), '1');
    // Only the `.partial` at the top holds unfinished uploads, which are left out; another is a folder like any other.
    const partial = 'an upload that goes on, or one of this name';
    for (const folder of ['.partial', 'left/.partial']) {
      mkdirSync(join(files, folder));
      writeFileSync(join(files, folder, 'part'), partial);
    }
    symlinkSync('nowhere', join(files, 'gone'));
    for (const [name, to] of [
      ['up', '..'],
      ['everything', '/'],
    ] as const)
      symlinkSync(to, join(files, name));
    expect([...(await directoryFiles(directory).find())].sort()).toEqual([
      ['files/left/.partial/part', { sizeBytes: partial.length }],
      ['files/left/one', { sizeBytes: 1 }],
      ['files/orgs', { sizeBytes: 4 }],
      ['files/right/other/.partial/part', { sizeBytes: partial.length }],
      ['files/right/other/one', { sizeBytes: 1 }],
      ['files/uploads/project/code', { sizeBytes: 4 }],
    ]);
  });
});
