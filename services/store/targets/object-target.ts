import type { Stats } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { DataDirectoryInUse, StoreUnavailable } from '../../kernel/fault.js';
import { durableFiles } from '../durable-files.js';
import { ifExists } from '../file-error.js';
import { type FileLock, lockFile } from '../file-lock.js';
import { errorText } from '../../kernel/error-text.js';

/** An object that one process at a time may replace. */
export interface ExclusiveObject {
  /** The bytes when it was opened; `undefined` when there was no such object. */
  readonly before: Uint8Array | undefined;
  /**
   * Resolves when the object is durable.
   *
   * @throws {DataDirectoryInUse} when another process has replaced it since it was opened, or last replaced here.
   */
  replace(bytes: Uint8Array): Promise<void>;
}

/**
 * A folder or a bucket that backups and exports are written to. Each object is either complete or absent.
 *
 * @throws {StoreUnavailable} from every method but `close`, when the folder or bucket cannot be used.
 */
export interface ObjectTarget {
  /** Name of the folder or bucket in messages. */
  readonly shown: string;
  /** The size in bytes of every object, by its path, and in a folder that of every lock file. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** @returns `undefined` when there is no such object. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** Resolves when the object is durable. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Opens an object for this process, until the target is closed. In a folder, a file beside it is locked; in a bucket,
   * each `replace` is conditional on the previous one, so each call must write other bytes than any other process.
   *
   * @throws {DataDirectoryInUse} when another process has the object of a folder open.
   */
  openExclusively(path: string): Promise<ExclusiveObject>;
  close(): Promise<void>;
}

/** @returns `undefined` when a file or folder of the operation does not exist. */
const faulty = async <Result>(failureText: string, work: () => Promise<Result>): Promise<Result | undefined> => {
  try {
    return await ifExists(work());
  } catch (error) {
    throw new StoreUnavailable(`${failureText}: ${errorText(error)}`, error);
  }
};

/** An entry of a folder: itself, or what it links to. */
type Entry = { readonly name: string; readonly kind: Pick<Stats, 'isDirectory' | 'isFile'> | undefined };

/** The entries of a folder; none when it does not exist. */
const entriesOf = async function* (folder: string, followsLinks: boolean): AsyncGenerator<Entry> {
  for (const entry of (await ifExists(readdir(folder, { withFileTypes: true }))) ?? []) {
    const { name } = entry;
    yield { name, kind: followsLinks && entry.isSymbolicLink() ? await ifExists(stat(join(folder, name))) : entry };
  }
};

/**
 * Enters a folder of a walk.
 *
 * @param above the real paths of the folders around it, from the root of the walk.
 * @returns these paths and its own; `undefined` when the folder is missing, and when a link has led to a folder that
 *   contains one of those around it: the walk would have no end.
 */
const enter = async (folder: string, above: readonly string[]): Promise<readonly string[] | undefined> => {
  const realFolder = await ifExists(realpath(folder));
  if (realFolder === undefined) return undefined;
  const isInside = (path: string): boolean => relative(realFolder, path).split(sep)[0] !== '..';
  return above.some(isInside) ? undefined : [...above, realFolder];
};

/**
 * The files below a folder with their sizes, without half-written ones; those behind symbolic links only with
 * `followsLinks`. Empty when the folder does not exist.
 */
export const filesIn = async (
  root: string,
  { followsLinks = false }: { readonly followsLinks?: boolean } = {},
): Promise<ReadonlyMap<string, number>> => {
  const sizes = new Map<string, number>();
  const add = async (path: string): Promise<void> => {
    const found = await ifExists(stat(join(root, path)));
    if (found) sizes.set(path, found.size); // another process may have removed it meanwhile
  };
  const walk = async (folder: string, above: readonly string[]): Promise<void> => {
    const around = followsLinks ? await enter(join(root, folder), above) : above;
    if (around === undefined) return;
    for await (const { name, kind } of entriesOf(join(root, folder), followsLinks)) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (path === '.partial') continue; // further below, it is a file like any other
      if (kind?.isDirectory() === true) await walk(path, around);
      else if (kind?.isFile() === true) await add(path);
    }
  };
  await walk('', []);
  return sizes;
};

/** The error of a second process that writes to the same folder or bucket. */
export const inUse = (purpose: string, shown: string): DataDirectoryInUse =>
  new DataDirectoryInUse(
    `${purpose} ${shown} is being written by another process; run one at a time, or choose another folder or bucket`,
  );

/**
 * Creates the folder of a target if it is missing.
 *
 * @throws {StoreUnavailable} when it cannot be created.
 */
export const createTargetFolder = async (folder: string, purpose: string): Promise<void> => {
  const root = resolve(folder);
  await faulty(`${purpose} ${root}`, () => durableFiles(root).folder(root));
};

/**
 * Keeps objects in a folder, which is created if missing. `purpose` is the first word of messages, such as `backup`.
 */
export const folderTarget = (folder: string, purpose: string): ObjectTarget => {
  const root = resolve(folder);
  const files = durableFiles(root);
  const locks: FileLock[] = [];

  const read: ObjectTarget['read'] = (path) =>
    faulty(`${purpose} ${join(root, path)}`, () => readFile(join(root, path)));

  const write: ObjectTarget['write'] = async (path, bytes) => {
    const written = await faulty(`${purpose} ${join(root, path)}`, async () => {
      await files.write(join(root, path), bytes);
      return true;
    });
    if (written === undefined) throw new StoreUnavailable(`${purpose} ${root}: ${basename(path)} cannot be written`);
  };

  const lock = async (path: string): Promise<void> => {
    const taken = await faulty(`${purpose} ${root}`, async () => {
      await files.folder(dirname(join(root, path)));
      return { lock: lockFile(join(root, `${path}.lock`), 'alone') };
    });
    if (taken === undefined) throw new StoreUnavailable(`${purpose} ${root}: ${path} cannot be locked`);
    if (taken.lock === undefined) throw inUse(purpose, root);
    locks.push(taken.lock);
  };

  return {
    shown: root,
    sizes: async () => (await faulty(`${purpose} ${root}`, () => filesIn(root))) ?? new Map<string, number>(),
    read,
    write,
    openExclusively: async (path) => {
      await lock(path);
      return { before: await read(path), replace: (bytes) => write(path, bytes) };
    },
    close: () => {
      for (const each of locks.splice(0)) each.close();
      return Promise.resolve();
    },
  };
};
