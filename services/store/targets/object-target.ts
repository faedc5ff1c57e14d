import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { StoreUnavailable } from '../../kernel/fault.js';
import { durableFiles } from '../durable-files.js';

/** A folder or a bucket that backups and exports are written to. Each object is either complete or absent. */
export interface ObjectTarget {
  /** Name of the place in messages. */
  readonly shown: string;
  /** The size in bytes of every object in the place, by its path. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** @returns `undefined` when there is no such object. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** Resolves when the object is durable. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

const faulty = async <Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StoreUnavailable(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
};

/** The files below a folder with their sizes, without half-written ones; empty when the folder does not exist. */
export const filesIn = async (root: string): Promise<ReadonlyMap<string, number>> => {
  const sizes = new Map<string, number>();
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    });
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== '.partial') await walk(path);
      else if (entry.isFile()) sizes.set(path, (await stat(join(root, path))).size);
    }
  };
  await walk('');
  return sizes;
};

/** Keeps objects in a folder, which is created if missing. `purpose` is the first word of messages, such as `backup`. */
export const folderTarget = (folder: string, purpose: string): ObjectTarget => {
  const root = resolve(folder);
  const files = durableFiles(root);
  return {
    shown: root,
    sizes: async () => (await faulty(`${purpose} ${root}`, () => filesIn(root))) ?? new Map<string, number>(),
    read: (path) => faulty(`${purpose} ${join(root, path)}`, () => readFile(join(root, path))),
    write: async (path, bytes) => {
      const written = await faulty(`${purpose} ${join(root, path)}`, async () => {
        await files.write(join(root, path), bytes);
        return true;
      });
      if (written === undefined) throw new StoreUnavailable(`${purpose} ${root}: ${basename(path)} cannot be written`);
    },
    close: () => Promise.resolve(),
  };
};
