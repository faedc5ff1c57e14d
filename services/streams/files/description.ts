import { DataDirectoryUnusable } from '../../kernel/fault.js';
import { positionRangeOf } from './exported-file.js';

/**
 * The place that the files of an export are written to. Each object is either complete or absent.
 *
 * @throws {StoreUnavailable} from every method, when the place cannot be used.
 */
export interface FileTarget {
  /** Name of the place in messages. */
  readonly shown: string;
  /** The size in bytes of every object in the place, by its path. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** @returns `undefined` when there is no such object. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** Resolves when the object is durable. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Opens an object that only one process may replace; `before` has its bytes.
   *
   * @throws {DataDirectoryInUse} in a folder, when another process has it open; in a bucket, from `replace`, when
   * another process has replaced it.
   */
  openExclusively(
    path: string,
  ): Promise<{ readonly before: Uint8Array | undefined; replace(bytes: Uint8Array): Promise<void> }>;
}

/** The folders of an export: by the date of recording, in UTC, or not at all. */
export type Partitioning = 'date' | 'none';

/** Properties that all files of a place have in common. An export goes on only where these are the same. */
export type Description = {
  readonly logId: string;
  readonly format: string;
  readonly partitionBy: Partitioning;
  readonly project?: string;
  readonly types?: readonly string[];
};

/** Readers of a folder of Parquet files leave out names that begin with an underscore. */
const PATH = '_export.json';

const lastOf = (paths: Iterable<string>): bigint | undefined => {
  const ends = [...paths].map((path) => positionRangeOf(path)?.last ?? 0n);
  const last = ends.reduce((highest, end) => (end > highest ? end : highest), 0n);
  return last === 0n ? undefined : last;
};

/**
 * Prepares a place for an export, or finds where an earlier one has ended.
 *
 * @returns the position of the last event in the place; 0n when it has none.
 * @throws {DataDirectoryUnusable} when it was prepared for another log, format, partitioning or selection, or has files
 *   of an export and no description.
 * @throws {StoreUnavailable} when the place cannot be used.
 */
export const resumeAt = async (target: FileTarget, description: Description): Promise<bigint> => {
  const wanted = JSON.stringify(description);
  const last = lastOf((await target.sizes()).keys());
  const found = await target.read(PATH);
  if (found === undefined && last === undefined) await target.write(PATH, Buffer.from(`${wanted}\n`));
  else if (found === undefined || Buffer.from(found).toString().trim() !== wanted)
    throw new DataDirectoryUnusable(
      `export ${target.shown} belongs to another export: ${
        Buffer.from(found ?? [])
          .toString()
          .trim() || `no ${PATH}`
      }, and this one is ${wanted}; choose an empty place`,
    );
  return last ?? 0n;
};
