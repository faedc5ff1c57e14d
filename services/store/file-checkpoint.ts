import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../kernel/checkpoint.js';

/** Which checkpoint of which log, and where it is kept. */
export type FileCheckpoint = { readonly directory: string; readonly name: string; readonly logId: string };

/** What is not there, was cut off, or is of another log says nothing. */
const positionIn = (text: string, wanted: string): bigint => {
  const [logId = '', position = ''] = text.split(' ');
  return logId === wanted && /^\d{1,19}\n$/u.test(position) ? BigInt(position.trim()) : 0n;
};

/**
 * A checkpoint in a small file of the data directory. It is not synced: after a loss of power an older one, or none,
 * is found, which costs time and nothing else.
 */
export const fileCheckpoint = ({ directory, name, logId }: FileCheckpoint): Checkpoint => {
  const folder = join(directory, 'checkpoints');
  const path = join(folder, name);
  return {
    read: async () => positionIn(await readFile(path, 'utf8').catch(() => ''), logId),
    write: async (position) => {
      await mkdir(folder, { recursive: true });
      // Other processes may write the same one.
      const partial = `${path}.${process.pid}`;
      await writeFile(partial, `${logId} ${position}\n`);
      await rename(partial, path);
    },
  };
};
