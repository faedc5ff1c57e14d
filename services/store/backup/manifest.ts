import { CorruptPayload, StoreUnavailable } from '../../kernel/fault.js';
import { sha256Hex } from '../../kernel/encoding/hash.js';
import type { FoundFile } from './backup-files.js';
import type { ObjectTarget } from '../targets/object-target.js';

/** Consecutive events of the log, in one object. */
export type BackupSegment = { readonly sha256: string; readonly sizeBytes: number; readonly events: number };

/** An upload, or another file of the data directory, stored in chunks of some megabytes. */
export type BackedUpFile = FoundFile & {
  /** Path below a data directory, also for an upload of a bucket. */
  readonly path: string;
  readonly chunks: readonly string[];
};

/** The manifest of a backup: the object that is written last, and the only one whose content ever changes. */
export type Manifest = {
  readonly logId: string;
  readonly takenAt: string;
  /** Last event of the backup; absent when the log was empty. The position is a decimal number, the id hexadecimal. */
  readonly last?: { readonly position: string; readonly id: string };
  readonly segments: readonly BackupSegment[];
  /** Number of payloads in the target; if there are fewer later, some have vanished. */
  readonly payloads: number;
  readonly files: readonly BackedUpFile[];
};

const PATH = 'backup.json';
const FORMAT = 1;

/** Path of a segment's object. */
export const segmentPath = ({ sha256 }: Pick<BackupSegment, 'sha256'>): string => `log/${sha256}`;

/** Path of the object of a file's chunk. */
export const chunkPath = (sha256: string): string => `files/${sha256.slice(0, 2)}/${sha256}`;

/** Prefix of the paths of payload objects. */
export const PAYLOAD_OBJECTS = 'payloads/';

/** Path of a payload's object, from its path in the payload store. */
export const payloadObject = (path: string): string => `${PAYLOAD_OBJECTS}${path}`;

type Written = { readonly format?: unknown; readonly sha256?: unknown; readonly backup?: unknown };

const parsed = (bytes: Uint8Array): Written | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Reads the manifest of the backup in a target.
 *
 * @returns `undefined` when there is none.
 * @throws {CorruptPayload} when it is damaged.
 * @throws {StoreUnavailable} when a newer release has written it, or the target cannot be read.
 */
export const readManifest = async (target: ObjectTarget): Promise<Manifest | undefined> => {
  const bytes = await target.read(PATH);
  if (bytes === undefined) return undefined;
  const { format, sha256, backup } = parsed(bytes) ?? {};
  if (typeof format === 'number' && format > FORMAT)
    throw new StoreUnavailable(`backup ${target.shown}: a newer release has written it (format ${format})`);
  if (backup === undefined || sha256 !== sha256Hex(JSON.stringify(backup)))
    throw new CorruptPayload(`backup ${target.shown} is damaged: ${PATH} is not what was written`);
  return backup as Manifest;
};

/** Replaces the manifest; every object that it refers to must be in the target already. */
export const writeManifest = (target: ObjectTarget, backup: Manifest): Promise<void> => {
  const sha256 = sha256Hex(JSON.stringify(backup));
  return target.write(PATH, Buffer.from(JSON.stringify({ format: FORMAT, sha256, backup })));
};
