import { readdir, readFile, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { PayloadRef, PayloadStore } from '../../kernel/ports/payload-store.js';
import { contentHash, verifiedBytes } from './content-hash.js';
import { durableFiles, syncFolder } from '../durable-files.js';
import { failPoint } from '../fail-point.js';
import { ifExists } from '../file-error.js';
import { payloadPath, quarantinePrefix } from './object-name.js';
import { errorText } from '../../kernel/error-text.js';

/** Converts file system errors into faults. */
const faulty = async <Result>(attempted: string, path: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const reason = errorText(error);
    throw new StoreUnavailable(`payload ${path} cannot be ${attempted}: ${reason}`, error);
  }
};

/**
 * Renews the time of a file of a size.
 *
 * @returns false when there is no such file, before or afterwards.
 */
const renewed = async (path: string, sizeBytes: number): Promise<boolean> => {
  const found = await ifExists(stat(path));
  if (found?.size !== sizeBytes) return false;
  const now = new Date();
  await ifExists(utimes(path, now, now));
  // The cleanup renames a file before it checks its time, so a file that is still here has kept the new time.
  return (await ifExists(stat(path))) !== undefined;
};

const readQuarantined = async (path: string): Promise<Uint8Array | undefined> => {
  const names = (await ifExists(readdir(dirname(path)))) ?? [];
  const quarantined = names.find((name) => name.startsWith(quarantinePrefix(basename(path))));
  return quarantined === undefined ? undefined : ifExists(readFile(join(dirname(path), quarantined)));
};

/** Reads a file, also one that the cleanup has quarantined or is restoring. */
const readWhole = async (path: string): Promise<Uint8Array | undefined> =>
  (await ifExists(readFile(path))) ?? (await readQuarantined(path)) ?? ifExists(readFile(path));

/**
 * Keeps payloads as files, `payloads/<scope>/<aa>/<sha256>` below the data directory. Any number of processes may write
 * and read.
 */
export const filePayloadStore = ({ directory }: { readonly directory: string }): PayloadStore => {
  const root = join(resolve(directory), 'payloads');
  const files = durableFiles(root, true);
  const running = new Map<string, Promise<void>>();

  const pathOf = (scope: string, sha256: string): string => join(root, payloadPath(scope, sha256));

  const store = async (path: string, bytes: Uint8Array): Promise<void> => {
    if (!(await renewed(path, bytes.length))) return files.write(path, bytes);
    // An earlier process may have been killed after it wrote the file and before it synced the folder.
    await files.folder(dirname(path));
    await syncFolder(dirname(path));
  };

  /** Concurrent writes of the same content share one write. */
  const stored = (path: string, bytes: Uint8Array): Promise<void> => {
    const work =
      running.get(path) ?? faulty('stored', path, () => store(path, bytes)).finally(() => running.delete(path));
    running.set(path, work);
    return work;
  };

  return {
    put: async (scope, bytes): Promise<PayloadRef> => {
      const sha256 = await contentHash(bytes);
      await stored(pathOf(scope, sha256), bytes);
      failPoint('after-payload');
      return { scope, sha256, sizeBytes: BigInt(bytes.length), keyId: '' };
    },
    get: async ({ scope, sha256 }) => {
      const path = pathOf(scope, sha256);
      const bytes = await faulty('read', path, async () => {
        files.assertInPlace();
        const found = await readWhole(path);
        files.assertInPlace(); // a payload is not missing while its folder is moved away
        return found;
      });
      return bytes && verifiedBytes(payloadPath(scope, sha256), sha256, bytes);
    },
    close: async () => {
      await Promise.allSettled(running.values());
    },
  };
};
