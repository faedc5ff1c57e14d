import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import { pathIdentity } from './path-identity.js';

/** Identifies a checkpoint of a log, and the data directory in which it is stored. */
export type FileCheckpoint = { readonly directory: string; readonly name: string; readonly logId: string };

/** A checkpoint that is missing, truncated, or of another log counts as 0n. */
const positionIn = (text: string, wanted: string): bigint => {
  const [logId = '', position = ''] = text.split(' ');
  return logId === wanted && /^\d{1,19}\n$/u.test(position) ? BigInt(position.trim()) : 0n;
};

const unlessThere = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
};

/**
 * A checkpoint in a small file of the data directory. It is not synced: after a power failure an older one, or none,
 * may be found, which costs only repeated work.
 */
export const fileCheckpoint = ({ directory, name, logId }: FileCheckpoint): Checkpoint => {
  const folder = join(directory, 'checkpoints');
  const path = join(folder, name);
  const home = pathIdentity(directory);
  const write = async (position: bigint): Promise<void> => {
    await mkdir(folder).catch(unlessThere); // not recursive: a removed data directory must stay removed
    // A file name per process: other processes may write the same checkpoint.
    const partial = `${path}.${process.pid}`;
    await writeFile(partial, `${logId} ${position}\n`);
    await rename(partial, path);
  };
  return {
    read: async () => positionIn(await readFile(path, 'utf8').catch(() => ''), logId),
    write: async (position) => {
      if (home.changed() !== undefined) return;
      await write(position).catch((error: unknown) => {
        if (home.changed() === undefined) throw error;
      });
    },
  };
};
