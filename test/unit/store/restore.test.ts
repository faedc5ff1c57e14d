import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { asError } from '../../../services/kernel/error-text.js';
import { DataDirectoryUnusable } from '../../../services/kernel/fault.js';
import { chunkPath, writeManifest } from '../../../services/store/backup/manifest.js';
import { restoreBackup } from '../../../services/store/backup/restore.js';
import { folderTarget } from '../../../services/store/targets/object-target.js';

it('a restore names the file that the file system does not take', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-restore-'));
  const [backup, directory] = [join(folder, 'backup'), join(folder, 'data')];
  const target = folderTarget(backup, 'backup');
  const sha256 = createHash('sha256').update('code').digest('hex');
  await target.write(chunkPath(sha256), Buffer.from('code'));
  const fileAt = (path: string) => ({ path, sizeBytes: 4, chunks: [sha256] });
  const files = [fileAt('files/uploads/a'), fileAt('files/uploads/a/below-a-file')];
  await writeManifest(target, { logId: 'a', takenAt: '2026-01-01T00:00:00.000Z', segments: [], payloads: 0, files });
  const restoring = { target, directory, codecs: new Map(), foreign: new Set<string>(), onProgress: () => undefined };
  const failure = await restoreBackup(restoring).catch(asError);
  expect(failure).toBeInstanceOf(DataDirectoryUnusable);
  expect((failure as Error).message).toContain(
    `${join(directory, 'files/uploads/a/below-a-file')} cannot be restored: `,
  );
  rmSync(folder, { recursive: true });
});
