import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { link, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolder } from './create-folder.js';
import { fileErrorCode } from './file-error.js';
import { firstChanged, type PathIdentity, pathIdentity } from './path-identity.js';

/** Number of folders remembered as durable, so that most writes sync only one folder. */
const MAX_KNOWN_FOLDERS = 10_000;

/** A half-written file that was not written to for this time, in milliseconds, was left by a process that has ended. */
const LEFT_MS = 3_600_000;

/** The folder of half-written files, below the root. */
const TEMPORARY = '.partial';

/** Writes files so that each is complete and durable, or absent. Throws errors of the file system as they are. */
export type DurableFiles = {
  /** Throws when the folders that must stay in place were moved, removed or replaced since they were first seen. */
  assertInPlace(): void;
  /** Creates a folder if missing, and makes it and all folders up to the root durable. */
  folder(path: string): Promise<void>;
  /** Writes a temporary file, syncs it and renames it to `path`; resolves when the folder is synced too. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Like `write`, but never replaces another file. Rethrows errors of `bytes`.
   *
   * @returns true when the file was created; false when `path` exists already.
   */
  create(path: string, bytes: AsyncIterable<Uint8Array>): Promise<boolean>;
};

type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

/** Makes the entries of a folder durable. */
export const syncFolder = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Removes a half-written file of an ended process; another process may remove it at the same time. */
const removeLeft = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (found && found.mtimeMs < Date.now() - LEFT_MS) await rm(path, { force: true });
};

/**
 * Links a file to its final name.
 *
 * @returns false when that name exists already.
 */
const linked = async (partial: string, path: string): Promise<boolean> => {
  try {
    await link(partial, path);
    return true;
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
};

/** A folder that is made once and then known. `forget` throws when it must not be made again. */
type KnownFolder = { readonly ready: () => Promise<void>; readonly forget: () => void };

/** Works in a folder; if the folder was removed since it was made, makes it again and works once more. */
const inFolder = async <Result>({ ready, forget }: KnownFolder, work: () => Promise<Result>): Promise<Result> => {
  await ready();
  try {
    return await work();
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') throw error;
  }
  forget();
  await ready();
  return work();
};

/**
 * Makes a check that throws when one of the folders was moved, removed or replaced since it was first seen. Anything but
 * a folder at a path, such as a file in its place, is not remembered.
 */
const assertionOf = (folders: readonly string[]): (() => void) => {
  const known = new Map<string, PathIdentity>();
  const remember = (): void => {
    for (const folder of folders)
      if (!known.has(folder) && statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
        known.set(folder, pathIdentity(folder));
  };
  remember();
  return () => {
    remember();
    const change = firstChanged([...known.values()]);
    if (change !== undefined) throw new Error(change);
  };
};

/** The folders below a root, which are made durable once; `temporary` is that of half-written files. */
const foldersBelow = (root: string, assertInPlace: () => void) => {
  const known = new Set<string>();
  const temporaryPath = join(root, TEMPORARY);
  let prepared: Promise<void> | undefined;

  const folder = async (path: string): Promise<void> => {
    if (known.has(path)) return;
    assertInPlace();
    await createFolder(path);
    if (path.length > root.length) await folder(dirname(path));
    await syncFolder(dirname(path));
    if (known.size >= MAX_KNOWN_FOLDERS) known.clear();
    known.add(path);
  };

  const prepare = async (): Promise<void> => {
    assertInPlace();
    await createFolder(temporaryPath);
    for (const name of await readdir(temporaryPath)) await removeLeft(join(temporaryPath, name));
  };

  const temporary: KnownFolder = {
    ready: () =>
      (prepared ??= prepare().catch((error: unknown) => {
        prepared = undefined;
        throw error;
      })),
    forget: () => {
      assertInPlace();
      prepared = undefined;
    },
  };

  const around = (path: string): KnownFolder => ({
    ready: () => folder(dirname(path)),
    forget: () => {
      assertInPlace();
      known.clear();
    },
  });
  return { folder, temporary, around };
};

const writeIn = async (folder: KnownFolder, path: string, bytes: Bytes): Promise<void> => {
  const handle = await inFolder(folder, () => open(path, 'wx'));
  try {
    await writeFile(handle, bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Writes files below a root, possibly together with other processes. Before the first write, half-written files that
 * ended processes left more than an hour ago are removed. When the parent folder of the root was moved or replaced,
 * writes fail: they would otherwise create a new root that no server uses. Other folders that were removed are made
 * again.
 *
 * @param root the folder of the files.
 * @param isRootKept true when writes also fail after the root itself was moved, removed or replaced: files in a new root
 *   would be lost when the old one is moved back.
 */
export const durableFiles = (root: string, isRootKept = false): DurableFiles => {
  const assertInPlace = assertionOf([dirname(root), ...(isRootKept ? [root] : [])]);
  const { folder, temporary, around } = foldersBelow(root, assertInPlace);

  const writeThenMove = async (path: string, bytes: Bytes, move: (partial: string) => Promise<void>): Promise<void> => {
    assertInPlace();
    const partial = join(root, TEMPORARY, randomUUID());
    try {
      await writeIn(temporary, partial, bytes);
      await inFolder(around(path), () => move(partial));
    } finally {
      await rm(partial, { force: true });
    }
    await syncFolder(dirname(path));
    assertInPlace();
  };

  const create = async (path: string, bytes: AsyncIterable<Uint8Array>): Promise<boolean> => {
    let isNew = false;
    await writeThenMove(path, bytes, async (partial) => {
      isNew = await linked(partial, path);
    });
    return isNew;
  };

  return {
    assertInPlace,
    folder,
    create,
    write: (path, bytes) => writeThenMove(path, bytes, (partial) => rename(partial, path)),
  };
};
