import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyLog, differenceOf } from '../../../services/cli/log/copy.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { sqliteLogReader } from '../../../services/store/log/sqlite-log-reader.js';

it('the difference of a log copy is another event, or the same event with other content', () => {
  const name = 'execution-a at revision 3';
  expect(differenceOf(name, name)).toBe('the copy differs: execution-a at revision 3 has other content');
  expect(differenceOf(name, 'task-b at revision 0')).toBe(
    'the copy differs: it has task-b at revision 0 in place of execution-a at revision 3',
  );
});

it('a log is not copied into itself under another name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-log-copy-'));
  const [data, link] = [join(folder, 'data'), join(folder, 'link')];
  mkdirSync(data);
  symlinkSync(data, link);
  const log = await sqliteEventStore({ directory: data });
  const event = { id: Buffer.alloc(16, 1), type: 'Counted', data: Buffer.alloc(1), metadata: '{}' };
  await log.append('counted-a' as never, 'any', [event]);
  await log.close();
  try {
    await expect(copyLog({ from: data, to: link })).rejects.toThrow('--from and --to name the same log');
    const reader = await sqliteLogReader({ directory: data });
    expect(reader.copyOf).toBeUndefined();
    await reader.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
