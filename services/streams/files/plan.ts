import { randomUUID } from 'node:crypto';
import type { FileTarget } from './description.js';
import { type PositionRange, positionRangeOf } from './exported-file.js';

/** The object that names the newest file of an export, before the file is written. */
const PATH = '_next.json';

/** The order of the files of one export, which two processes cannot extend at the same place. */
export interface FilePlan {
  /** The range of the newest file that was planned before, if any; the file itself may not have been written. */
  readonly pending: PositionRange | undefined;
  /**
   * Plans a file. Call it when all files before are durable.
   *
   * @throws {DataDirectoryInUse} when another process has planned one since.
   */
  next(path: string): Promise<void>;
}

const pendingIn = (bytes: Uint8Array | undefined): PositionRange | undefined => {
  if (bytes === undefined) return undefined;
  const { file } = JSON.parse(Buffer.from(bytes).toString()) as { readonly file: string };
  return positionRangeOf(file);
};

/**
 * Opens the plan of a place.
 *
 * @throws {DataDirectoryInUse} when another process has it open, in a folder; in a bucket, `next` finds that out.
 * @throws {StoreUnavailable} when the place cannot be used.
 */
export const openPlan = async (target: FileTarget): Promise<FilePlan> => {
  const object = await target.openExclusively(PATH);
  const writer = randomUUID(); // no other process writes the same bytes for the same file
  return {
    pending: pendingIn(object.before),
    next: (file) => object.replace(Buffer.from(`${JSON.stringify({ file, writer })}\n`)),
  };
};
