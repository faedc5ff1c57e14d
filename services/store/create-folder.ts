import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileErrorCode } from './file-error.js';

/** The error for a path at which no folder could be created: the given one, but for a link that leads nowhere. */
const noFolder = (path: string, error: unknown): unknown =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path)
    ? new Error(`${path} is a symbolic link to something that does not exist`)
    : error;

/**
 * Creates one folder.
 *
 * @returns false when its parent folder is missing.
 */
const createdIn = async (path: string): Promise<boolean> => {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return false;
    if (fileErrorCode(error) !== 'EEXIST') throw error;
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) return true;
    throw noFolder(path, error);
  }
};

const noFolderIn = (parent: string): Error => new Error(`no folder can be created in ${parent}`);

/**
 * Creates a folder and the missing ones above it, one at a time: a recursive `mkdir` of Node never ends below `/proc`,
 * which says of each new folder that its parent is missing.
 *
 * @throws {Error} when a folder cannot be created.
 */
export const createFolder = async (path: string): Promise<void> => {
  if (await createdIn(path)) return;
  const parent = dirname(path);
  if (parent !== path) await createFolder(parent);
  if (!(await createdIn(path))) throw noFolderIn(parent);
};

/**
 * Does the same as {@link createFolder}, and blocks the thread until it is done. Only the user of the process can use
 * the new folders.
 *
 * @throws {Error} when a folder cannot be created.
 */
export const createPrivateFolder = (path: string): void => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (parent !== path) createPrivateFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') throw noFolderIn(parent);
    // Another process may have just created it.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw noFolder(path, error);
  }
};
