import { link, opendir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { PayloadObject, PayloadObjects } from '../../kernel/ports/payload-objects.js';
import { quarantineName, objectNamed } from './object-name.js';
import { syncFolder } from '../durable-files.js';
import { failPoint } from '../fail-point.js';
import { fileErrorCode, ifExists } from '../file-error.js';
import { errorText } from '../../kernel/error-text.js';

/** Number of files whose times are read concurrently. */
const PAGE = 256;

/**
 * Awaits a file operation that another process may have made impossible.
 *
 * @returns false when it failed with the error code `ignoredCode`; other errors are thrown.
 */
const did = async (work: Promise<unknown>, ignoredCode = 'ENOENT'): Promise<boolean> => {
  try {
    await work;
    return true;
  } catch (error) {
    if (fileErrorCode(error) === ignoredCode) return false;
    throw error;
  }
};

const faulty = async <Result>(path: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw new StoreUnavailable(`the cleanup of payload ${path} has failed: ${errorText(error)}`, error);
  }
};

/** The files below a folder in pages; those of one folder are together and sorted by name. */
const filesBelow = async function* (root: string, below: string): AsyncGenerator<readonly string[]> {
  const names: string[] = [];
  const folder = await ifExists(opendir(join(root, below)));
  for await (const entry of folder ?? []) {
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isFile()) names.push(path);
    else if (entry.isDirectory() && path !== '.partial') yield* filesBelow(root, path);
  }
  names.sort();
  for (let from = 0; from < names.length; from += PAGE) yield names.slice(from, from + PAGE);
};

const objectAt = async (root: string, name: string): Promise<PayloadObject | undefined> => {
  const named = objectNamed(name);
  const found = named && (await stat(join(root, name)).catch(() => undefined));
  if (!named || !found) return undefined;
  const isQuarantined = named.quarantinedAtMs !== undefined;
  return {
    path: named.path,
    ...(isQuarantined && { quarantinedAs: name }),
    sizeBytes: found.size,
    touchedAtMs: found.mtimeMs,
  };
};

/**
 * The objects of a payload folder. A file is renamed before its time is checked again and it is removed: a writer that
 * renewed its time before the rename is noticed, and a later writer finds it missing and writes it again. Folders are
 * kept, because writers remember them as durable.
 */
export const filePayloadObjects = ({ directory }: { readonly directory: string }): PayloadObjects => {
  const root = join(resolve(directory), 'payloads');

  const restore = async ({ path, quarantinedAs }: PayloadObject): Promise<void> => {
    if (quarantinedAs === undefined) return;
    const [from, to] = [join(root, quarantinedAs), join(root, path)];
    if ((await ifExists(did(link(from, to), 'EEXIST'))) === undefined) return; // another cleanup had it
    await syncFolder(dirname(to));
    await did(unlink(from));
  };

  const drop: PayloadObjects['drop'] = async (object, cutoffMs) => {
    const { path } = object;
    const quarantinedAs = object.quarantinedAs ?? quarantineName(path, Date.now());
    const taken = join(root, quarantinedAs);
    if (object.quarantinedAs === undefined && !(await did(rename(join(root, path), taken)))) return 'kept';
    failPoint('payload-quarantined');
    const found = await ifExists(stat(taken));
    if (found === undefined) return 'kept'; // another cleanup had it
    if (found.mtimeMs >= cutoffMs) {
      await restore({ ...object, quarantinedAs });
      return 'kept';
    }
    return (await did(unlink(taken))) ? 'removed' : 'kept';
  };

  return {
    async *list() {
      try {
        for await (const names of filesBelow(root, '')) {
          const found = await Promise.all(names.map((name) => objectAt(root, name)));
          yield found.filter((object) => object !== undefined);
        }
      } catch (error) {
        throw new StoreUnavailable(`payloads in ${root} cannot be listed: ${errorText(error)}`, error);
      }
    },
    drop: (object, cutoffMs) => faulty(object.path, () => drop(object, cutoffMs)),
    restore: (object) => faulty(object.path, () => restore(object)),
    close: () => Promise.resolve(),
  };
};
