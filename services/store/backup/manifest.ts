import { CorruptPayload, StoreUnavailable } from '../../kernel/fault.js';
import { sha256Hex } from '../../kernel/encoding/hash.js';
import type { BackupPlace } from './place.js';

/** Events that follow each other in the log, in one object. */
export type Segment = { readonly sha256: string; readonly sizeBytes: number; readonly events: number };

/** A file of the data directory, in objects of at most some megabytes. */
export type BackedUpFile = {
  /** Below the data directory. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly chunks: readonly string[];
};

/** What a backup is: the object that is written last, and alone is ever replaced. */
export type Manifest = {
  readonly logId: string;
  readonly takenAt: string;
  /** The last event of it; absent when the log was empty. Positions as decimal numbers, ids in hexadecimal. */
  readonly last?: { readonly position: string; readonly id: string };
  readonly segments: readonly Segment[];
  /** Payloads that the place has; fewer of them later mean that some have vanished. */
  readonly payloads: number;
  readonly files: readonly BackedUpFile[];
};

const PATH = 'backup.json';
const FORMAT = 1;

/** The object of a segment. */
export const segmentPath = ({ sha256 }: Pick<Segment, 'sha256'>): string => `log/${sha256}`;

/** The object of a part of a file. */
export const chunkPath = (sha256: string): string => `files/${sha256.slice(0, 2)}/${sha256}`;

/** Where the objects of payloads are. */
export const PAYLOAD_OBJECTS = 'payloads/';

/** The object of a payload, by its path in the payload store. */
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
 * Reads the backup that is in a place.
 *
 * @returns `undefined` when there is none.
 * @throws {CorruptPayload} when it is damaged.
 * @throws {StoreUnavailable} when a newer release has written it.
 */
export const readManifest = async (place: BackupPlace): Promise<Manifest | undefined> => {
  const bytes = await place.read(PATH);
  if (bytes === undefined) return undefined;
  const { format, sha256, backup } = parsed(bytes) ?? {};
  if (typeof format === 'number' && format > FORMAT)
    throw new StoreUnavailable(`backup ${place.shown}: a newer release has written it (format ${format})`);
  if (backup === undefined || sha256 !== sha256Hex(JSON.stringify(backup)))
    throw new CorruptPayload(`backup ${place.shown} is damaged: ${PATH} is not what was written`);
  return backup as Manifest;
};

/** Puts a backup in the place of the one before; everything that it names is there. */
export const writeManifest = (place: BackupPlace, backup: Manifest): Promise<void> => {
  const sha256 = sha256Hex(JSON.stringify(backup));
  return place.write(PATH, Buffer.from(JSON.stringify({ format: FORMAT, sha256, backup })));
};
