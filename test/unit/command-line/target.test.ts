import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTarget } from '../../../services/cli/maintenance/object-target.js';
import { OperatorError } from '../../../services/config/operator-errors.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-target-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** The error of opening a folder; `undefined` when it can be opened. */
const refusalOf = (path: string): Promise<unknown> =>
  openTarget('--to', path, 'backup').then(
    () => undefined,
    (error: unknown) => error,
  );

describe('the folder of --to', () => {
  it('is created with the folders above it', async () => {
    const path = join(directory, 'a', 'b');
    const target = await openTarget('--to', path, 'backup');
    expect(statSync(path).isDirectory()).toBe(true);
    await target.close();
  });

  it('is refused below a file', async () => {
    writeFileSync(join(directory, 'file'), '');
    const refusal = await refusalOf(join(directory, 'file', 'a'));
    expect(refusal).toBeInstanceOf(OperatorError);
    expect((refusal as Error).message).toContain(`--to: backup ${directory}/file/a: ENOTDIR`);
  });

  it.each(['', '/a'])('is refused when its path is a link to a missing folder, followed by %j', async (below) => {
    const link = join(directory, 'link');
    symlinkSync(join(directory, 'gone'), link);
    const refusal = await refusalOf(`${link}${below}`);
    const reason = `${link} is a symbolic link to something that does not exist`;
    expect((refusal as Error).message).toBe(`--to: backup ${link}${below}: ${reason}`);
  });

  it.runIf(process.platform === 'linux')('is refused when the system cannot create it', async () => {
    const refusal = await refusalOf('/proc/flightlog/a');
    expect(refusal).toBeInstanceOf(OperatorError);
    expect((refusal as Error).message).toBe('--to: backup /proc/flightlog/a: no folder can be created in /proc');
  });
});
