import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { withTokenLock } from '../../../services/cli/client/sign-in/token-lock.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-token-lock-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The content of the lock file while it is held. */
const contentHeld = (file: string): Promise<string> =>
  withTokenLock(file, () => Promise.resolve(readFileSync(file, 'utf8')));

describe('the lock of the tokens', () => {
  it('lets commands renew the tokens one after another, and is removed', async () => {
    const file = join(folder, 'below', 'lock');
    const events: string[] = [];
    const work = (name: string) => (): Promise<number> =>
      new Promise((resolve) => {
        events.push(`${name} begins`);
        setImmediate(() => resolve(events.push(`${name} ends`)));
      });
    await Promise.all([withTokenLock(file, work('a')), withTokenLock(file, work('b'))]);
    expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
    expect(existsSync(file)).toBe(false);
  });

  it('is removed when the work fails', async () => {
    const file = join(folder, 'failing');
    await expect(withTokenLock(file, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(existsSync(file)).toBe(false);
  });

  it('is taken over from a command that was killed, and from one that has held it too long', async () => {
    const file = join(folder, 'stale');
    writeFileSync(file, String(spawnSync(process.execPath, ['--version']).pid)); // a process that has ended
    expect(await contentHeld(file)).toBe(String(process.pid));
    writeFileSync(file, '1'); // process 1 always runs
    utimesSync(file, 0, 0); // since 1970
    expect(await contentHeld(file)).toBe(String(process.pid));
    expect(readdirSync(folder).filter((name) => name.startsWith('stale'))).toEqual([]);
  });

  it('is not removed by a command that held it too long, when another one has taken it over', async () => {
    const file = join(folder, 'taken over');
    await withTokenLock(file, async () => {
      await writeFile(file, '1'); // as process 1 would
    });
    expect(readFileSync(file, 'utf8')).toBe('1');
  });

  it('is not taken when its file cannot be created: the work is done without it', async () => {
    writeFileSync(join(folder, 'file'), '');
    expect(await withTokenLock(join(folder, 'file', 'lock'), () => Promise.resolve('done'))).toBe('done');
    const nowhere = process.platform === 'linux' ? '/proc/flightlog/tokens/lock' : join(folder, 'file', 'a', 'lock');
    expect(await withTokenLock(nowhere, () => Promise.resolve('done'))).toBe('done');
  });
});
