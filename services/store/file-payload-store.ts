import { webcrypto } from 'node:crypto';
import { readFile, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { CorruptPayload, StoreUnavailable } from '../kernel/fault.js';
import { sha256Hex } from '../kernel/hash.js';
import type { PayloadRef, PayloadStore } from '../kernel/payload-store.js';
import { durableFiles } from './durable-files.js';
import { failPoint } from './fail-point.js';

/** Most file systems take 255 bytes for a name. */
const MAX_NAME = 200;

/** Characters that `encodeURIComponent` leaves and a file name should not have, and names that mean a folder. */
const UNSAFE = /[!'()*]|^\.{1,2}$/gu;

const fileName = (segment: string): string => {
  const name = encodeURIComponent(segment).replace(UNSAFE, (text) =>
    Array.from(text, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  );
  return name.length > MAX_NAME ? `~${sha256Hex(segment)}` : name || '%';
};

/** Hashes on the thread pool: a payload of some megabytes would hold up the caller's thread. */
const hashOf = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const orMissing = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

/** Turns what the file system throws into the fault of the port. */
const faulty = async <Result>(what: string, path: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`payload ${path} cannot be ${what}: ${reason}`, error);
  }
};

/**
 * Keeps payloads as files, `payloads/<scope>/<aa>/<sha256>` below the data directory. All work is done on the thread
 * pool; only one process may write, any number may read.
 */
export const filePayloadStore = ({ directory }: { readonly directory: string }): PayloadStore => {
  const root = join(resolve(directory), 'payloads');
  const files = durableFiles(root);
  const running = new Map<string, Promise<void>>();

  const pathOf = (scope: string, sha256: string): string =>
    join(root, ...scope.split('/').map(fileName), fileName(sha256.slice(0, 2)), fileName(sha256));

  const store = async (path: string, bytes: Uint8Array): Promise<void> => {
    const there = await orMissing(stat(path));
    if (there?.size !== bytes.length) return files.write(path, bytes);
    const now = new Date();
    await utimes(path, now, now);
    // An earlier process may have been stopped between the file and its folder.
    await files.folder(dirname(path));
    await files.sync(dirname(path));
  };

  /** The same content at the same time is written once. */
  const stored = (path: string, bytes: Uint8Array): Promise<void> => {
    const work =
      running.get(path) ?? faulty('stored', path, () => store(path, bytes)).finally(() => running.delete(path));
    running.set(path, work);
    return work;
  };

  return {
    put: async (scope, bytes): Promise<PayloadRef> => {
      const sha256 = await hashOf(bytes);
      await stored(pathOf(scope, sha256), bytes);
      failPoint('after-payload');
      return { scope, sha256, sizeBytes: BigInt(bytes.length), keyId: '' };
    },
    get: async ({ scope, sha256 }) => {
      const path = pathOf(scope, sha256);
      const bytes = await faulty('read', path, () => orMissing(readFile(path)));
      if (bytes && (await hashOf(bytes)) !== sha256)
        throw new CorruptPayload(`payload ${path} is not what its name says`);
      return bytes;
    },
    close: async () => {
      await Promise.allSettled(running.values());
    },
  };
};
