import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DataDirectoryInUse, DataDirectoryUnusable } from '../kernel/fault.js';
import { fileErrorCode } from './file-error.js';
import { type FileLock, lockFile, type LockMode } from './file-lock.js';
import { fileProblem } from './log/sqlite-fault.js';
import { errorText } from '../kernel/error-text.js';

/** A lock on a data directory; it ends with the process at the latest. */
export type DataDirectoryLock = {
  /** Absolute path. */
  readonly directory: string;
  release(): void;
};

const [LOCK, HOLDER] = ['lock.db', 'lock.pid'] as const;
/** The names of the files of the lock in a data directory: the lock with its journal, and the process that has it. */
export const LOCK_FILES: readonly string[] = [LOCK, `${LOCK}-journal`, HOLDER];

/** Locks of this process, kept from the garbage collector, which would release them. */
const held = new Set<DataDirectoryLock>();

const PID_ATTEMPTS = 20;
const PID_PAUSE_MS = 25;

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return fileErrorCode(error) === 'EPERM';
  }
};

const pidIn = (file: string): number | undefined => {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && pid > 0 && isAlive(pid) ? pid : undefined;
  } catch {
    return undefined; // the owner of the lock has not written it yet
  }
};

/**
 * Describes the process that took the lock last. It writes its process id just after it has taken the lock, so an id
 * that is missing, or of a process that has ended, is looked up again for a while.
 */
const holderOf = async (file: string, attemptsLeft = PID_ATTEMPTS): Promise<string> => {
  const pid = pidIn(file);
  if (pid !== undefined) return `process ${pid}`;
  if (attemptsLeft === 0) return 'another process';
  await setTimeout(PID_PAUSE_MS);
  return holderOf(file, attemptsLeft - 1);
};

const syncFolder = (path: string): void => {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
};

/**
 * Creates the directory and its missing parents durably. Done one by one, because Node's recursive `mkdir` never ends
 * in /proc.
 */
const make = (directory: string): void => {
  if (existsSync(directory)) return;
  make(dirname(directory));
  try {
    mkdirSync(directory);
  } catch (error) {
    if (fileErrorCode(error) !== 'EEXIST') throw error; // another process has just created it
  }
  syncFolder(dirname(directory));
};

const unusable = (directory: string, reason: string, cause: unknown): DataDirectoryUnusable =>
  new DataDirectoryUnusable(`data directory ${directory} cannot be used: ${reason}`, cause);

const prepare = (directory: string): void => {
  try {
    make(directory);
    if (!statSync(directory).isDirectory()) throw new Error('it is a file');
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(directory, errorText(error), error);
  }
};

const locked = (directory: string, file: string, mode: LockMode): FileLock | undefined => {
  try {
    return lockFile(file, mode);
  } catch (error) {
    throw unusable(directory, `${file}: ${fileProblem(error)}`, error);
  }
};

/**
 * Locks the data directory for this process, alone or together with others that lock it `together`, and creates it if
 * missing. Processes that only read need no lock.
 *
 * @throws {DataDirectoryInUse} when a lock that excludes this one is held already, by this process or another.
 * @throws {DataDirectoryUnusable} when the directory cannot be created or written.
 */
export const lockDataDirectory = async (path: string, mode: LockMode = 'alone'): Promise<DataDirectoryLock> => {
  const directory = resolve(path);
  prepare(directory);
  const pidFile = join(directory, HOLDER);
  const file = locked(directory, join(directory, LOCK), mode);
  if (!file) throw new DataDirectoryInUse(`data directory ${directory} is in use by ${await holderOf(pidFile)}`);
  const release = (): void => {
    if (!held.delete(lock)) return;
    try {
      if (mode === 'alone') rmSync(pidFile, { force: true });
    } finally {
      file.close();
    }
  };
  const lock: DataDirectoryLock = { directory, release };
  held.add(lock);
  try {
    writeFileSync(pidFile, String(process.pid));
  } catch (error) {
    held.delete(lock);
    file.close();
    throw unusable(directory, errorText(error), error);
  }
  return lock;
};
