import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EventCodec } from '../../kernel/aggregate.js';
import { type EventStore } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { CorruptPayload, DataDirectoryUnusable, Fault, StoreUnavailable } from '../../kernel/fault.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import type { StreamName } from '../../kernel/stream.js';
import type { Append } from '../append.js';
import { contentHash } from '../payloads/content-hash.js';
import { createFolder } from '../create-folder.js';
import { type DataDirectoryLock, LOCK_FILES, lockDataDirectory } from '../data-directory.js';
import { durableFiles, syncFolder } from '../durable-files.js';
import { errorText } from '../../kernel/error-text.js';
import { fileErrorCode, ifExists } from '../file-error.js';
import { filePayloadStore } from '../payloads/file-payload-store.js';
import { payloadPath } from '../payloads/object-name.js';
import { payloadsNamedBy } from '../payloads/payload-references.js';
import { limitConcurrency, MAX_CONCURRENT_COPIES } from './limit-concurrency.js';
import { markLogCopy } from '../log/identity.js';
import { RESTORING_FOLDER } from '../log/presence.js';
import { sqliteEventStore } from '../log/sqlite-event-store.js';
import { chunkPath, payloadObject, readManifest, segmentPath, type BackedUpFile, type Manifest } from './manifest.js';
import { isControlPlaneFile, CONTROL_PLANE_FILES } from './backup-files.js';
import type { ObjectTarget } from '../targets/object-target.js';
import type { UploadRestorer } from './s3-files.js';
import { unpackSegment } from './segment.js';

/** Takes the payloads and the uploads of a backup; the caller opens and closes it. */
export type RestoreBucket = { readonly payloads: PayloadStore; readonly uploads: UploadRestorer };

/** Source and target of a restore. */
export type Restore = {
  readonly target: ObjectTarget;
  /** Target directory: empty, missing, or left by an interrupted restore, whose files are removed first. */
  readonly directory: string;
  /** Takes payloads and uploads in place of the directory. */
  readonly bucket?: RestoreBucket;
  /** Codec of the events of each category, by which their payloads are found. */
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
  /** Categories of other applications that wrote to the same event store; their events refer to no payloads. */
  readonly foreign: ReadonlySet<string>;
  readonly onProgress: (events: number, total: number) => void;
};

/** Counts of what was restored, the identity of the log before and after, and the time of the backup (ISO 8601). */
export type Restored = {
  readonly before: string;
  readonly after: string;
  readonly takenAt: string;
  readonly events: number;
  readonly payloads: number;
  readonly files: number;
};

/** A locked directory, and the folder in it where everything is assembled. */
type Prepared = { readonly unfinished: string; readonly lock: DataDirectoryLock };

const prepared = async (directory: string): Promise<Prepared> => {
  await createFolder(directory).catch((error: unknown) => {
    throw new DataDirectoryUnusable(`${directory} cannot be created: ${errorText(error)}`, error);
  });
  const isLock = (name: string): boolean => LOCK_FILES.includes(name);
  const contents = async (): Promise<string[]> => (await readdir(directory)).filter((name) => !isLock(name));
  // A directory that an interrupted restore has left has no log yet.
  const isLeft = (found: readonly string[]): boolean => found.includes(RESTORING_FOLDER) && !found.includes('log.db');
  const assertFree = (found: readonly string[]): void => {
    if (found.length > 0 && !isLeft(found))
      throw new DataDirectoryUnusable(`${directory} is not empty: restore into a directory with nothing in it`);
  };
  assertFree(await contents()); // before the files of the lock are created
  const lock = await lockDataDirectory(directory);
  try {
    const found = await contents();
    assertFree(found);
    for (const name of found) await rm(join(directory, name), { recursive: true });
    const unfinished = join(directory, RESTORING_FOLDER);
    await mkdir(unfinished, { mode: 0o700 }); // files with secrets get their permissions only after they are written
    return { unfinished, lock };
  } catch (error) {
    lock.release();
    throw error;
  }
};

/**
 * Reads an object of the backup.
 *
 * @throws {CorruptPayload} when it is missing, or its content does not match its hash.
 */
const genuine = async (target: ObjectTarget, path: string, sha256: string): Promise<Uint8Array> => {
  const bytes = await target.read(path);
  if (bytes === undefined) throw new CorruptPayload(`backup ${target.shown} is incomplete: ${path} is missing`);
  if ((await contentHash(bytes)) !== sha256)
    throw new CorruptPayload(`backup ${target.shown} is damaged: ${path} is not what its name says`);
  return bytes;
};

/** The events of an append, complete enough to find the payloads that they refer to. */
const eventsOf = ({ stream, events }: Append): RecordedEvent[] =>
  events.map((event) => ({ ...event, stream: stream as StreamName, revision: 0n, position: 0n }));

const restorePayloads = async (
  restoring: Restore,
  payloads: PayloadStore,
  appends: readonly Append[],
  done: Set<string>,
): Promise<void> => {
  const named = appends.flatMap(eventsOf).flatMap((event) => payloadsNamedBy(event, restoring));
  const wanted = new Map(named.map((ref) => [payloadPath(ref.scope, ref.sha256), ref]));
  const missing = [...wanted].filter(([path]) => !done.has(path));
  await limitConcurrency(MAX_CONCURRENT_COPIES, missing, async ([path, { scope, sha256 }]) => {
    await payloads.put(scope, await genuine(restoring.target, payloadObject(path), sha256));
    done.add(path);
  });
};

const restoreLog = async (restoring: Restore, { segments }: Manifest, store: EventStore, payloads: PayloadStore) => {
  const total = segments.reduce((sum, { events }) => sum + events, 0);
  const done = new Set<string>();
  let count = 0;
  for (const segment of segments) {
    const appends = await unpackSegment(await genuine(restoring.target, segmentPath(segment), segment.sha256));
    await restorePayloads(restoring, payloads, appends, done);
    await Promise.all(
      appends.map(({ stream, expected, events }) => store.append(stream as StreamName, expected, events)),
    );
    count += segment.events;
    restoring.onProgress(count, total);
  }
  const head = await store.head();
  if (head !== BigInt(total))
    throw new CorruptPayload(
      `backup ${restoring.target.shown} has ${total} events by its manifest, and ${head} in its segments`,
    );
  return { events: total, payloads: done.size };
};

const restoreFile = async ({ target, bucket }: Restore, to: string, file: BackedUpFile): Promise<void> => {
  const { path, chunks } = file;
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (const sha256 of chunks) yield genuine(target, chunkPath(sha256), sha256);
  };
  if (bucket && !isControlPlaneFile(path)) return bucket.uploads.restore(file, content());
  await durableFiles(to).create(join(to, path), content());
  if (isControlPlaneFile(path)) await chmod(join(to, path), 0o600);
};

/** Moves the log last: a directory without it is recognized as an interrupted restore. */
const moveIntoPlace = async (from: string, directory: string): Promise<void> => {
  for (const name of ['payloads', 'files', ...CONTROL_PLANE_FILES, 'log.db']) {
    await ifExists(rename(join(from, name), join(directory, name)));
    await syncFolder(directory);
  }
  await rm(from, { recursive: true });
  await syncFolder(dirname(directory));
};

/** @throws {DataDirectoryUnusable} for an error of the file system, such as a full disk; other errors as they are. */
const writing = async (path: string, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault || fileErrorCode(error) === '') throw error;
    throw new DataDirectoryUnusable(`${path} cannot be restored: ${errorText(error)}`, error);
  }
};

const restoreInto = async (directory: string, manifest: Manifest, restoring: Restore): Promise<Restored> => {
  const store = await sqliteEventStore({ directory });
  const payloads = restoring.bucket?.payloads ?? filePayloadStore({ directory });
  let restored: Awaited<ReturnType<typeof restoreLog>>;
  try {
    restored = await restoreLog(restoring, manifest, store, payloads);
  } finally {
    if (!restoring.bucket) await payloads.close();
    await store.close();
  }
  for (const file of manifest.files) {
    const path = join(restoring.directory, file.path);
    await writing(path, () => restoreFile(restoring, directory, file));
  }
  const { logId: before, takenAt, files } = manifest;
  markLogCopy(directory, before);
  return { before, after: store.logId, takenAt, ...restored, files: files.length };
};

/**
 * Restores a backup into an empty directory: the log, with a new identity and every event at its revision, the payloads
 * that it refers to, and the files; payloads and uploads into a bucket where one is given. All contents are checked
 * against their hashes. Read models are not in a backup; they are projected again at the next start.
 *
 * @throws {DataDirectoryUnusable} when the directory is not empty, or it or a file in it cannot be created.
 * @throws {DataDirectoryInUse} when another process has the lock of the directory, such as one that restores into it.
 * @throws {StoreUnavailable} when there is no backup, when a newer release has written it, when the backup or the
 *   bucket cannot be used now, or when the log or a payload cannot be written, as on a full disk.
 * @throws {CorruptPayload} when the backup is damaged or incomplete; there is no log then.
 * @throws {UnknownEvent} when this release does not know an event, and so cannot know its payloads; nor is there a log.
 * @throws {CorruptEvent} when an event cannot be decoded; nor is there a log.
 */
export const restoreBackup = async (restoring: Restore): Promise<Restored> => {
  const { target, directory } = restoring;
  const manifest = await readManifest(target);
  if (manifest === undefined) throw new StoreUnavailable(`there is no backup in ${target.shown}`);
  const { unfinished, lock } = await prepared(directory);
  try {
    const restored = await restoreInto(unfinished, manifest, restoring);
    await writing(directory, () => moveIntoPlace(unfinished, directory));
    return restored;
  } finally {
    lock.release();
  }
};
