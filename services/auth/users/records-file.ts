import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { StoreUnavailable } from '../../kernel/fault.js';
import { createFolder } from '../../store/create-folder.js';
import { errorText } from '../../kernel/error-text.js';

/** Named records in a JSON file, which commands change while servers read it. */
export type RecordsFile<Entry> = {
  /**
   * The records by name; none when the file does not exist. The file is read again when it has changed.
   *
   * @throws {StoreUnavailable} when the file cannot be read, or its content has another shape.
   */
  read(): Promise<ReadonlyMap<string, Entry>>;
  /**
   * Replaces the content with what `update` makes of it; nothing is written when `update` throws.
   *
   * @throws {StoreUnavailable} when another command is changing the file, or it cannot be read or written.
   */
  change(update: (before: ReadonlyMap<string, Entry>) => ReadonlyMap<string, Entry>): Promise<void>;
};

const OWNER_ONLY = 0o600;
const PERMISSIONS = 0o777;
const PERMISSIONS_WITHOUT_GROUP = 0o707;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** The result of reading the file; `undefined` when it does not exist. */
const ifPresent = <Result>(path: string, reading: Promise<Result>): Promise<Result | undefined> =>
  reading.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StoreUnavailable(`${path} cannot be read: ${errorText(error)}`, error);
  });

const notWritten =
  (path: string) =>
  (error: unknown): never => {
    throw new StoreUnavailable(`${path} cannot be written: ${errorText(error)}`, error);
  };

/** Identifies a version of the file: a rename gives another inode, an editor another time or size. */
const versionOf = async (path: string): Promise<string | undefined> => {
  const found = await ifPresent(path, stat(path));
  return found && `${found.ino}:${found.size}:${found.mtimeMs}`;
};

/** Gives a file an owner and a group. Only root can give any; others a group of their own. */
const changeOwner = async (handle: FileHandle, uid: number, gid: number): Promise<void> => {
  const { uid: presentUid, gid: presentGid } = await handle.stat();
  if (uid !== presentUid || gid !== presentGid) await handle.chown(uid, gid);
};

/**
 * Gives a file the permissions and the group of the one that it replaces and, as root, its owner: servers must still be
 * able to read it. Where the group cannot be given, no group gets permissions, as the file has hashes of passwords.
 */
const takeOver = async (handle: FileHandle, path: string): Promise<void> => {
  const before = await ifPresent(path, stat(path));
  if (!before) return;
  const ownUid = process.geteuid?.() ?? 0;
  const isKept = await changeOwner(handle, ownUid === 0 ? before.uid : ownUid, before.gid).then(
    () => true,
    (error: unknown) => {
      if (ownUid === 0 || codeOf(error) !== 'EPERM') throw error;
      return false;
    },
  );
  await handle.chmod(before.mode & (isKept ? PERMISSIONS : PERMISSIONS_WITHOUT_GROUP));
};

/**
 * Writes a temporary file in the same folder and renames it, so that a reader finds the old content or the new, also
 * after a crash.
 */
const replace = async (path: string, text: string): Promise<void> => {
  const temporaryPath = `${path}.${randomUUID()}`;
  try {
    const handle = await open(temporaryPath, 'wx', OWNER_ONLY);
    try {
      await takeOver(handle, path);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
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
    if (codeOf(error) !== 'EEXIST') return notWritten(path)(error);
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
    if (known?.version === version) return known.records;
    const text = await ifPresent(path, readFile(path, 'utf8'));
    if (text === undefined) return new Map(); // removed meanwhile
    known = { version, records: parse(text) };
    return known.records;
  };

  return {
    read,
    change: async (update) => {
      const change = async (): Promise<void> => {
        const records = Object.fromEntries(update(await read()));
        await replace(path, `${JSON.stringify({ [key]: records }, undefined, 2)}\n`).catch(notWritten(path));
      };
      await createFolder(dirname(path)).catch(notWritten(path));
      await withLockFile(path, change);
    },
  };
};
