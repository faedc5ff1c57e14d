import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../kernel/error-text.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { ifExists } from '../file-error.js';
import { filesIn } from '../targets/object-target.js';

/** Size in bytes of every chunk of a file but the last. */
export const CHUNK_BYTES = 8 * 1024 * 1024;

/** A file as it is now; `version` changes with its content, and is absent where the store has no versions. */
export type FoundFile = { readonly sizeBytes: number; readonly version?: string };

/**
 * A source of the files in a backup other than log and payloads: uploads, and {@link CONTROL_PLANE_FILES}.
 *
 * @throws {StoreUnavailable} from `find`, and while chunks are read, when a file cannot be read; it is named.
 */
export interface BackupFiles {
  /** Every file by its path in a data directory, `files/…` or one of {@link CONTROL_PLANE_FILES}. */
  find(): Promise<ReadonlyMap<string, FoundFile>>;
  /** The content in chunks of `CHUNK_BYTES`, the last one may be smaller; none for an empty file. */
  chunks(path: string, found: FoundFile): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Folder of the uploads in a data directory, and in the paths of a backup. */
export const UPLOADS = 'files/';

/**
 * The files beside log, payloads and uploads that a backup has: the key that signs links, and the users and clients of
 * the authorization server. Those that are not in the data directory are omitted.
 */
export const CONTROL_PLANE_FILES = ['link.key', 'users.json', 'clients.json'] as const;

/** True for one of the {@link CONTROL_PLANE_FILES}. They hold secrets, and change without a new version. */
export const isControlPlaneFile = (path: string): boolean => CONTROL_PLANE_FILES.some((name) => name === path);

const unreadable = (path: string, error: unknown): StoreUnavailable =>
  new StoreUnavailable(`${path} cannot be backed up: ${errorText(error)}`, error);

const readable = async <Result>(path: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw unreadable(path, error);
  }
};

const chunksOf = async function* (path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw unreadable(path, error);
  }
};

/** The files of a data directory. Uploads behind symbolic links are among them, because servers follow these, too. */
export const directoryFiles = (directory: string): BackupFiles => ({
  find: async () => {
    const root = join(directory, UPLOADS);
    const uploads = await readable(root, () => filesIn(root, { followsLinks: true }));
    const found = new Map<string, FoundFile>();
    for (const [path, sizeBytes] of uploads) found.set(`${UPLOADS}${path}`, { sizeBytes });
    for (const name of CONTROL_PLANE_FILES) {
      const path = join(directory, name);
      const file = await readable(path, () => ifExists(stat(path)));
      if (file) found.set(name, { sizeBytes: file.size });
    }
    return found;
  },
  chunks: (path) => chunksOf(join(directory, path)),
  close: () => Promise.resolve(),
});

/** Merges two sources; a file that is in both is taken from the second. */
export const mergedFiles = (first: BackupFiles, second: BackupFiles): BackupFiles => {
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
