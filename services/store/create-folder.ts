import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;

/** Creates one folder. @returns false when its parent folder is missing. */
const createdIn = async (path: string): Promise<boolean> => {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return true;
    throw error;
  }
};

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
  if (!(await createdIn(path))) throw new Error(`no folder can be created in ${parent}`);
};
