import { link, opendir, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { PayloadObject, PayloadObjects } from '../../kernel/ports/payload-objects.js';
import { asideName, objectNamed } from './aside-name.js';
import { failPoint } from '../fail-point.js';

/** Files whose times are looked up at a time. */
const PAGE = 256;

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** Does what may find nothing, or find it done; answers whether it did it. */
const did = async (work: Promise<unknown>, unless = 'ENOENT'): Promise<boolean> => {
  try {
    await work;
    return true;
  } catch (error) {
    if (codeOf(error) === unless) return false;
    throw error;
  }
};

const faulty = async <Result>(path: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`payload ${path} cannot be tidied: ${why}`, error);
  }
};

const sync = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** The files below a folder, those of one folder together and in the order of their names. */
const filesBelow = async function* (root: string, below: string): AsyncGenerator<readonly string[]> {
  const names: string[] = [];
  const folder = await opendir(join(root, below)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  for await (const entry of folder) {
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
  const isAside = named.asideAtMs !== undefined;
  return { path: named.path, ...(isAside && { aside: name }), sizeBytes: found.size, touchedAtMs: found.mtimeMs };
};

/**
 * The files of a payload folder. One is renamed before it is looked at again and removed: whoever renewed its time came
 * before that and is seen, or finds it gone and writes it anew. Folders stay, because writers remember them.
 */
export const filePayloadObjects = ({ directory }: { readonly directory: string }): PayloadObjects => {
  const root = join(resolve(directory), 'payloads');

  const restore = async ({ path, aside }: PayloadObject): Promise<void> => {
    if (aside === undefined) return;
    const [from, to] = [join(root, aside), join(root, path)];
    await did(link(from, to), 'EEXIST');
    await sync(dirname(to));
    await did(unlink(from));
  };

  const drop: PayloadObjects['drop'] = async (object, cutoffMs) => {
    const { path } = object;
    const aside = object.aside ?? asideName(path, Date.now());
    const taken = join(root, aside);
    if (object.aside === undefined && !(await did(rename(join(root, path), taken)))) return 'kept';
    failPoint('payload-aside');
    if ((await stat(taken)).mtimeMs >= cutoffMs) {
      await restore({ ...object, aside });
      return 'kept';
    }
    await unlink(taken);
    return 'removed';
  };

  return {
    async *list() {
      for await (const names of filesBelow(root, '')) {
        const found = await Promise.all(names.map((name) => faulty(name, () => objectAt(root, name))));
        yield found.filter((object) => object !== undefined);
      }
    },
    drop: (object, cutoffMs) => faulty(object.path, () => drop(object, cutoffMs)),
    restore: (object) => faulty(object.path, () => restore(object)),
    close: () => Promise.resolve(),
  };
};
