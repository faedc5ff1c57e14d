import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import { pathIdentity } from './path-identity.js';

/** Which checkpoint of which log, and where it is kept. */
export type FileCheckpoint = { readonly directory: string; readonly name: string; readonly logId: string };

/** What is not there, was cut off, or is of another log says nothing. */
const positionIn = (text: string, wanted: string): bigint => {
  const [logId = '', position = ''] = text.split(' ');
  return logId === wanted && /^\d{1,19}\n$/u.test(position) ? BigInt(position.trim()) : 0n;
};

const unlessThere = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
};

/**
 * A checkpoint in a small file of the data directory. It is not synced: after a loss of power an older one, or none,
 * is found, which costs time and nothing else.
 */
export const fileCheckpoint = ({ directory, name, logId }: FileCheckpoint): Checkpoint => {
  const folder = join(directory, 'checkpoints');
  const path = join(folder, name);
  const home = pathIdentity(directory);
  const write = async (position: bigint): Promise<void> => {
    await mkdir(folder).catch(unlessThere); // not recursive: a directory that is gone is not made anew for it
    // Other processes may write the same one.
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
