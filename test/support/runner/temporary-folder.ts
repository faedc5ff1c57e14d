import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Removes a folder, also while a process that is ending still writes there; gives false when that does not succeed. */
const isRemoved = (folder: string): boolean => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return true;
  } catch {
    return false;
  }
};

/**
 * Called by the runner before the first test: gives the tests of the run, and the processes that they start, one new
 * folder for all temporary files.
 *
 * @returns a function that the runner calls after the last test. It removes the folder; after a failure it keeps the
 * folder and prints its path.
 */
export const setup = (): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-tests-'));
  chmodSync(folder, 0o755); // some tests run as another user
  process.env['TMPDIR'] = folder;
  return () => {
    const isKept = Boolean(process.exitCode) || !isRemoved(folder);
    if (isKept) process.stderr.write(`the temporary files of the tests are in ${folder}\n`);
  };
};
