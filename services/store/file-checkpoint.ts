import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreUnavailable } from '../kernel/fault.js';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import { fileErrorCode, ifExists } from './file-error.js';
import { pathIdentity } from './path-identity.js';
import { errorText } from '../kernel/error-text.js';

/** Identifies a checkpoint of a log, and the data directory in which it is stored. */
export type FileCheckpoint = { readonly directory: string; readonly name: string; readonly logId: string };

/** A checkpoint that is truncated or of another log counts as 0n. */
const positionIn = (text: string, wanted: string): bigint => {
  const [logId = '', position = ''] = text.split(' ');
  return logId === wanted && /^\d{1,19}\n$/u.test(position) ? BigInt(position.trim()) : 0n;
};

const ignoreExisting = (error: unknown): void => {
  if (fileErrorCode(error) !== 'EEXIST') throw error;
};

/** The text of a file; empty when there is no such file. */
const textOf = async (path: string): Promise<string> => (await ifExists(readFile(path, 'utf8'))) ?? '';

const faulty = async <Result>(failureText: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw new StoreUnavailable(`${failureText}: ${errorText(error)}`, error);
  }
};

/**
 * A checkpoint in a small file of the data directory. It is not synced: after a power failure an older one, or none,
 * may be found, which costs only repeated work. When the directory was removed or replaced, `write` does nothing.
 *
 * @throws {StoreUnavailable} from both methods, when the file system fails. A read that fails is not taken for a
 *   missing checkpoint: the reader would do everything from the beginning of the log again.
 */
export const fileCheckpoint = ({ directory, name, logId }: FileCheckpoint): Checkpoint => {
  const folder = join(directory, 'checkpoints');
  const path = join(folder, name);
  const home = pathIdentity(directory);
  const write = async (position: bigint): Promise<void> => {
    await mkdir(folder).catch(ignoreExisting); // not recursive: a removed data directory must stay removed
    // A file name per process: other processes may write the same checkpoint.
    const partial = `${path}.${process.pid}`;
    await writeFile(partial, `${logId} ${position}\n`);
    await rename(partial, path);
  };
  return {
    read: async () => positionIn(await faulty(`checkpoint ${path} cannot be read`, () => textOf(path)), logId),
    write: (position) =>
      faulty(`checkpoint ${path} cannot be written`, async () => {
        if (home.changed() !== undefined) return;
        await write(position).catch((error: unknown) => {
          if (home.changed() === undefined) throw error;
        });
      }),
  };
};
