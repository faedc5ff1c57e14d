import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createPrivateFolder } from '../../../store/create-folder.js';

const POLL_MS = 100;
const SAY_AFTER_MS = 2_000;
/** Longer than a sign-in takes, unless the issuer gives its device codes more time. */
const STALE_MS = 900_000;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
};

/** True when the command that made the file has ended without removing it, or holds it for too long. */
const isStale = (file: string): boolean => {
  try {
    return Date.now() - statSync(file).mtimeMs > STALE_MS || !isRunning(Number(readFileSync(file, 'utf8')));
  } catch {
    return false; // it was removed just now
  }
};

type Lock = 'taken' | 'busy' | 'impossible';

const take = (file: string): Lock => {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return 'taken';
  } catch (error) {
    return codeOf(error) === 'EEXIST' ? 'busy' : 'impossible';
  }
};

/**
 * Removes a stale lock file. Another command may have done so and made its own since the file was found stale: that one
 * is put back.
 */
const removeStale = (file: string): void => {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch {
    // the lock file was removed, or there is a newer one
  }
  rmSync(aside, { force: true });
};

/** True when the lock file is that of this process. */
const isOurs = (file: string): boolean => {
  try {
    return readFileSync(file, 'utf8') === String(process.pid);
  } catch {
    return false;
  }
};

/** Makes a folder where there is none, and tells if it is there now. */
const madeFolder = (path: string): boolean => {
  try {
    createPrivateFolder(path);
    return true;
  } catch {
    return false;
  }
};

/**
 * Runs work while no other command with this lock file does. An issuer may take a refresh token only once: two commands
 * that used it at the same time would end the sign-in. Where the file cannot be made, the work is done without it.
 */
export const withTokenLock = async <Result>(file: string, work: () => Promise<Result>): Promise<Result> => {
  let lock: Lock = madeFolder(dirname(file)) ? take(file) : 'impossible';
  for (let waitedMs = 0; lock === 'busy'; waitedMs += POLL_MS) {
    if (waitedMs === SAY_AFTER_MS)
      process.stderr.write(`waiting for the sign-in of another command; if none is running, remove ${file}\n`);
    if (isStale(file)) {
      removeStale(file);
      lock = take(file);
    }
    if (lock !== 'busy') break;
    await pause(POLL_MS); // also after a stale file that cannot be removed
    lock = take(file);
  }
  try {
    return await work();
  } finally {
    // Another command takes over a lock that is held for too long.
    if (lock === 'taken' && isOurs(file)) rmSync(file, { force: true });
  }
};
