import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

  it('fail the backup when one exists and cannot be read', async () => {
    symlinkSync('users.json', join(directory, 'users.json')); // a link to itself
    await expect(directoryFiles(directory).find()).rejects.toMatchObject({ code: 'ELOOP' });
  });
});
