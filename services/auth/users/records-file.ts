import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { StoreUnavailable } from '../../kernel/fault.js';
import { createFolder } from '../../store/create-folder.js';

/** Named records in a JSON file, which commands change while servers read it. */
export type RecordsFile<Entry> = {
  /**
   * The records by name; none when the file does not exist. The file is read again when it has changed.
   *
   * @throws {StoreUnavailable} when `stat` of the file fails, or its content has another shape. An error of reading it
   *   is thrown as it is.
   */
  read(): Promise<ReadonlyMap<string, Entry>>;
  /**
   * Replaces the content with what `update` makes of it; nothing is written when `update` throws.
   *
   * @throws {StoreUnavailable} when another command is changing the file, its folder cannot be created, or `read` throws
   *   it. Other errors of the lock file and of the write are thrown as they are.
   */
  change(update: (before: ReadonlyMap<string, Entry>) => ReadonlyMap<string, Entry>): Promise<void>;
};

const OWNER_ONLY = 0o600;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Identifies a version of the file: a rename gives another inode, an editor another time or size. */
const versionOf = async (path: string): Promise<string | undefined> => {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino}:${size}:${mtimeMs}`;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StoreUnavailable(`${path} cannot be read: ${messageOf(error)}`, error);
  }
};

/**
 * Writes a temporary file in the same folder and renames it, so that a reader finds the old content or the new, also
 * after a crash.
 */
const replace = async (path: string, text: string): Promise<void> => {
  const temporaryPath = `${path}.${randomUUID()}`;
  const handle = await open(temporaryPath, 'wx', OWNER_ONLY);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporaryPath, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Runs work while no other command changes the file. */
const withLockFile = async (path: string, work: () => Promise<void>): Promise<void> => {
  const lock = `${path}.lock`;
  const handle = await open(lock, 'wx', OWNER_ONLY).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new StoreUnavailable(`${path} is being changed by another command; if none is running, remove ${lock}`);
  });
  try {
    await work();
  } finally {
    await handle.close();
    await rm(lock, { force: true });
  }
};

/** Opens a file of records; `entry` is the shape of one, and `key` the property of the file that has them. */
export const recordsFile = <Entry>(path: string, key: string, entry: z.ZodType<Entry>): RecordsFile<Entry> => {
  const shape = z.strictObject({ [key]: z.record(z.string(), entry) });
  let known: { readonly version: string; readonly records: ReadonlyMap<string, Entry> } | undefined;

  const parse = (text: string): ReadonlyMap<string, Entry> => {
    try {
      return new Map(Object.entries(shape.parse(JSON.parse(text))[key] ?? {}));
    } catch (error) {
      // The text is not repeated: it has hashes of passwords.
      const where = error instanceof z.ZodError ? `: ${error.issues[0]?.path.join('.')}` : '';
      throw new StoreUnavailable(`${path} is not a file of ${key}${where}`);
    }
  };

  const read = async (): Promise<ReadonlyMap<string, Entry>> => {
    const version = await versionOf(path);
    if (version === undefined) return new Map();
    if (known?.version !== version) known = { version, records: parse(await readFile(path, 'utf8')) };
    return known.records;
  };

  return {
    read,
    change: async (update) => {
      await createFolder(dirname(path)).catch((cause: unknown) => {
        throw new StoreUnavailable(`${path} cannot be written: ${(cause as Error).message}`, cause);
      });
      await withLockFile(path, async () => {
        const records = Object.fromEntries(update(await read()));
        await replace(path, `${JSON.stringify({ [key]: records }, undefined, 2)}\n`);
      });
    },
  };
};
