import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { filesIn } from '../targets/object-target.js';

/** Size in bytes of every chunk of a file but the last. */
export const CHUNK_BYTES = 8 * 1024 * 1024;

/** A file as it is now; `version` changes with its content, where the store knows such a thing. */
export type FoundFile = { readonly sizeBytes: number; readonly version?: string };

/** Files that a backup has beside log and payloads: uploads of clients, and the key of their links. */
export interface BackupFiles {
  /** Every file by its path in a data directory, `files/…` or `link.key`. */
  find(): Promise<ReadonlyMap<string, FoundFile>>;
  /** The content in chunks of `CHUNK_BYTES`, the last one may be smaller; none for an empty file. */
  chunks(path: string, found: FoundFile): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Folder of the uploads in a data directory, and in the paths of a backup. */
export const UPLOADS = 'files/';

/** Path of the key that signs links; it is created with the first link. */
export const LINK_KEY = 'link.key';

/** The files of a data directory. */
export const directoryFiles = (directory: string): BackupFiles => ({
  find: async () => {
    const uploads = await filesIn(join(directory, UPLOADS));
    const key = await stat(join(directory, LINK_KEY)).catch(() => undefined);
    const found = [...uploads].map(([path, sizeBytes]) => [`${UPLOADS}${path}`, { sizeBytes }] as const);
    return new Map<string, FoundFile>(key ? [...found, [LINK_KEY, { sizeBytes: key.size }]] : found);
  },
  chunks: (path) =>
    createReadStream(join(directory, path), { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Uint8Array>,
  close: () => Promise.resolve(),
});

/** Both sources as one; a path that both have is taken from the second. */
export const joinedFiles = (first: BackupFiles, second: BackupFiles): BackupFiles => {
  let ofSecond: ReadonlyMap<string, FoundFile> = new Map();
  return {
    find: async () => {
      ofSecond = await second.find();
      return new Map([...(await first.find()), ...ofSecond]);
    },
    chunks: (path, found) => (ofSecond.has(path) ? second : first).chunks(path, found),
    close: async () => {
      await first.close();
      await second.close();
    },
  };
};
