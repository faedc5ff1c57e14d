import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathIdentity } from './path-identity.js';

/** Folders that are remembered as durable, so that most writes sync one folder only. */
const MAX_KNOWN_FOLDERS = 10_000;

/** A half-written file that nobody has written to for so long is of a process that is gone. */
const LEFT_MS = 3_600_000;

/** Files that are there whole and durably, or not at all. */
export type DurableFiles = {
  /** Makes the folder, and everything between it and the root, durable. */
  folder(path: string): Promise<void>;
  /** Writes beside, syncs, and moves into place; the folder is synced before it answers. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** As `write`, but never in the place of another file: answers whether there was none. What the bytes throw, it throws. */
  create(path: string, bytes: AsyncIterable<Uint8Array>): Promise<boolean>;
  /** Makes the names in a folder durable. */
  sync(folder: string): Promise<void>;
};

type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

const isThere = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST';

const sync = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Removes a file that a process has left half-written; another process may do the same. */
const removeLeft = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (found && found.mtimeMs < Date.now() - LEFT_MS) await rm(path, { force: true });
};

/** Gives a file its name, unless another has it: answers whether it does. */
const linked = async (partial: string, path: string): Promise<boolean> => {
  try {
    await link(partial, path);
    return true;
  } catch (error) {
    if (isThere(error)) return false;
    throw error;
  }
};

/** Throws when a folder is no longer the one that it was. */
const assertionOf = (folder: string): (() => void) => {
  const { changed } = pathIdentity(folder);
  return () => {
    const what = changed();
    if (what !== undefined) throw new Error(what);
  };
};

/**
 * Writes below a root, beside other processes or not; what one that is gone has left half-written is removed first.
 * Once the folder of the root is another, it writes nothing: that folder would be made anew, and be nobody's.
 */
export const durableFiles = (root: string): DurableFiles => {
  const assertInPlace = assertionOf(dirname(root));
  const known = new Set<string>();
  const temporary = join(root, '.partial');
  let prepared: Promise<void> | undefined;

  const folder = async (path: string): Promise<void> => {
    if (known.has(path)) return;
    await mkdir(path, { recursive: true });
    if (path.length > root.length) await folder(dirname(path));
    await sync(dirname(path));
    if (known.size >= MAX_KNOWN_FOLDERS) known.clear();
    known.add(path);
  };

  const prepare = async (): Promise<void> => {
    await mkdir(temporary, { recursive: true });
    for (const name of await readdir(temporary)) await removeLeft(join(temporary, name));
  };

  const writeBeside = async (path: string, bytes: Bytes): Promise<void> => {
    const handle = await open(path, 'wx');
    try {
      await writeFile(handle, bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  };

  const place = async (path: string, bytes: Bytes, move: (partial: string) => Promise<void>): Promise<void> => {
    assertInPlace();
    prepared ??= prepare();
    await prepared.catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    const partial = join(temporary, randomUUID());
    try {
      await writeBeside(partial, bytes);
      await folder(dirname(path));
      await move(partial);
    } finally {
      await rm(partial, { force: true });
    }
    await sync(dirname(path));
    assertInPlace();
  };

  const create = async (path: string, bytes: AsyncIterable<Uint8Array>): Promise<boolean> => {
    let isNew = false;
    await place(path, bytes, async (partial) => {
      isNew = await linked(partial, path);
    });
    return isNew;
  };

  return { folder, sync, create, write: (path, bytes) => place(path, bytes, (partial) => rename(partial, path)) };
};
