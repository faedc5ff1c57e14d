import type { EventCodec } from '../../kernel/aggregate.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { CorruptPayload, DataDirectoryUnusable } from '../../kernel/fault.js';
import type { PayloadRef, PayloadStore } from '../../kernel/ports/payload-store.js';
import { contentHash } from '../payloads/content-hash.js';
import { failPoint } from '../fail-point.js';
import { payloadPath } from '../payloads/object-name.js';
import { payloadsNamedBy } from '../payloads/payload-references.js';
import { limitConcurrency, MAX_CONCURRENT_COPIES } from './limit-concurrency.js';
import {
  type BackedUpFile,
  chunkPath,
  type Manifest,
  PAYLOAD_OBJECTS,
  payloadObject,
  readManifest,
  type BackupSegment,
  segmentPath,
  writeManifest,
} from './manifest.js';
import { type BackupFiles, CHUNK_BYTES, type FoundFile, isControlPlaneFile } from './backup-files.js';
import type { ObjectTarget } from '../targets/object-target.js';
import { packSegment } from './segment.js';

/** Sources and target of a backup. */
export type BackUp = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  /** Uploads and {@link CONTROL_PLANE_FILES}. */
  readonly files: BackupFiles;
  readonly target: ObjectTarget;
  /** Codec of the events of each category, by which their payloads are found. */
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
  /** Categories of other applications that write to the same event store; their events refer to no payloads. */
  readonly foreign: ReadonlySet<string>;
  readonly onProgress: (position: bigint, head: bigint) => void;
};

/** Contents of a backup, and what was copied for it; the rest was in the backup target already. */
export type BackedUp = {
  /** The position of the last event; 0 for an empty log. */
  readonly position: number;
  readonly events: number;
  readonly files: number;
  readonly copiedEvents: number;
  readonly copiedPayloads: number;
  readonly copiedFiles: number;
  readonly copiedBytes: number;
};

/** Target size of a segment: bytes of its events before compression. */
const SEGMENT_BYTES = 4 * 1024 * 1024;

/** Writes objects that are not in the target yet, and counts the bytes written. */
const writerOf = async (target: ObjectTarget) => {
  const sizes = new Map(await target.sizes());
  let bytes = 0;
  return {
    has: (path: string, sizeBytes: number): boolean => sizes.get(path) === sizeBytes,
    write: async (path: string, content: Uint8Array): Promise<void> => {
      if (sizes.get(path) === content.length) return;
      await target.write(path, content);
      sizes.set(path, content.length);
      bytes += content.length;
      failPoint('backup-object');
    },
    payloads: (): number => [...sizes.keys()].filter((path) => path.startsWith(PAYLOAD_OBJECTS)).length,
    bytes: (): number => bytes,
  };
};
type Writer = Awaited<ReturnType<typeof writerOf>>;

/** The segments of the previous backup to build on, or none when some of its objects have vanished. */
const kept = (before: Manifest | undefined, writer: Writer): Pick<Manifest, 'last' | 'segments'> => {
  if (before === undefined || writer.payloads() < before.payloads) return { segments: [] };
  const isWhole = before.segments.every((segment) => writer.has(segmentPath(segment), segment.sizeBytes));
  return isWhole ? before : { segments: [] };
};

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex');

/**
 * Checks that the target has no backup of another log. A log with another history is refused even if it has the same
 * identity.
 *
 * @throws {DataDirectoryUnusable} when the backup is of another log.
 */
const assertContinued = async (log: EventLog, target: ObjectTarget, before: Manifest | undefined): Promise<void> => {
  if (before === undefined) return;
  const refuse = (reason: string): never => {
    throw new DataDirectoryUnusable(
      `backup ${target.shown} is of another log: ${reason}; choose an empty folder or bucket`,
    );
  };
  if (before.logId !== log.logId) refuse(`of ${before.logId}, and this one is ${log.logId}`);
  const { last } = before;
  if (last === undefined) return;
  const after = BigInt(last.position) - 1n;
  for await (const { events } of log.readLog({ after })) {
    const [found] = events;
    if (found && String(found.position) === last.position && hexOf(found.id) === last.id) return;
    break;
  }
  refuse(`it has another event at position ${last.position}`);
};

type Named = { readonly event: RecordedEvent; readonly ref: PayloadRef };

const copyPayload = async (
  { payloads, target }: BackUp,
  writer: Writer,
  path: string,
  { event, ref }: Named,
): Promise<boolean> => {
  if (writer.has(path, Number(ref.sizeBytes))) return false;
  const bytes = await payloads.get(ref);
  if (bytes === undefined)
    throw new CorruptPayload(
      `payload ${ref.scope}/${ref.sha256}, which event ${event.revision} of ${event.stream} names, is missing: backup ${target.shown} is left as it was`,
    );
  await writer.write(path, bytes);
  return true;
};

/**
 * Copies the payloads that events refer to.
 *
 * @returns how many were not in the target yet.
 */
const copyPayloads = async (backingUp: BackUp, writer: Writer, events: readonly RecordedEvent[]): Promise<number> => {
  const named = events.flatMap((event) =>
    payloadsNamedBy(event, backingUp).map((ref): [string, Named] => [
      payloadPath(ref.scope, ref.sha256),
      { event, ref },
    ]),
  );
  let copied = 0;
  await limitConcurrency(MAX_CONCURRENT_COPIES, [...new Map(named)], async ([path, payload]) => {
    if (await copyPayload(backingUp, writer, payloadObject(path), payload)) copied += 1;
  });
  return copied;
};

/** Groups consecutive events into segments of about `SEGMENT_BYTES`. */
const segmentsOf = async function* (log: EventLog, after: bigint): AsyncGenerator<readonly RecordedEvent[]> {
  let events: RecordedEvent[] = [];
  let bytes = 0;
  for await (const page of log.readLog({ after })) {
    events.push(...page.events);
    bytes += page.events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
    if (bytes < SEGMENT_BYTES) continue;
    yield events;
    [events, bytes] = [[], 0];
  }
  if (events.length > 0) yield events;
};

const copyFile = async (
  { files }: BackUp,
  writer: Writer,
  [path, found]: readonly [string, FoundFile],
): Promise<BackedUpFile> => {
  const chunks: string[] = [];
  for await (const chunk of files.chunks(path, found)) {
    const sha256 = await contentHash(chunk);
    await writer.write(chunkPath(sha256), chunk);
    chunks.push(sha256);
  }
  return { path, ...found, chunks };
};

/**
 * Copies uploads that the target lacks, and {@link CONTROL_PLANE_FILES} each time: these may change while their size
 * stays the same, and an upload with the same version and size has not changed.
 */
const copyFiles = async (backingUp: BackUp, writer: Writer, before: Manifest | undefined) => {
  const known = new Map(before?.files.map((file) => [file.path, file]));
  const files: BackedUpFile[] = [];
  let copied = 0;
  for (const file of await backingUp.files.find()) {
    const earlier = known.get(file[0]);
    const isThere = earlier !== undefined && isUnchanged(earlier, file[1]) && areThere(earlier, writer);
    if (!isThere) copied += 1;
    files.push(isThere ? earlier : await copyFile(backingUp, writer, file));
  }
  return { files, copied };
};

const isUnchanged = (earlier: BackedUpFile, { sizeBytes, version }: FoundFile): boolean =>
  earlier.sizeBytes === sizeBytes && earlier.version === version && !isControlPlaneFile(earlier.path);

const areThere = ({ chunks, sizeBytes }: BackedUpFile, { has }: Writer): boolean =>
  chunks.every((sha256, i) =>
    has(chunkPath(sha256), i < chunks.length - 1 ? CHUNK_BYTES : sizeBytes - (chunks.length - 1) * CHUNK_BYTES),
  );

/**
 * Backs up a log, the payloads that it refers to, the uploads and {@link CONTROL_PLANE_FILES}, while servers use them.
 * The log is read first, up to its head at the start, then the files beside it: a file is durable before the event that
 * refers to it. Objects that are already in the target are not copied again. The manifest is replaced last, so the
 * previous backup stays valid when this one is interrupted.
 *
 * @throws {DataDirectoryUnusable} when the target has a backup of another log.
 * @throws {CorruptPayload} when a payload is missing or damaged, or the manifest of the earlier backup is damaged.
 * @throws {StoreUnavailable} when the log, a payload, a file or the target cannot be used now, or a newer release has
 *   written the earlier backup.
 * @throws {UnknownEvent} when this release does not know an event, and so cannot know its payloads.
 * @throws {CorruptEvent} when an event cannot be decoded.
 */
export const backUp = async (backingUp: BackUp): Promise<BackedUp> => {
  const { log, target, onProgress } = backingUp;
  const before = await readManifest(target);
  await assertContinued(log, target, before);
  const writer = await writerOf(target);
  const start = kept(before, writer);
  const segments: BackupSegment[] = [...start.segments];
  let { last } = start;
  const head = await log.head();
  let [copiedEvents, copiedPayloads] = [0, 0];
  for await (const events of segmentsOf(log, BigInt(last?.position ?? 0))) {
    copiedPayloads += await copyPayloads(backingUp, writer, events);
    const packed = await packSegment(events);
    const segment = { sha256: await contentHash(packed), sizeBytes: packed.length, events: events.length };
    await writer.write(segmentPath(segment), packed);
    segments.push(segment);
    copiedEvents += events.length;
    const end = events.at(-1);
    if (end) last = { position: String(end.position), id: hexOf(end.id) };
    onProgress(end?.position ?? 0n, head);
  }
  const { files, copied: copiedFiles } = await copyFiles(backingUp, writer, before);
  const takenAt = new Date().toISOString();
  await writeManifest(target, {
    logId: log.logId,
    takenAt,
    ...(last && { last }),
    segments,
    payloads: writer.payloads(),
    files,
  });
  const events = segments.reduce((sum, segment) => sum + segment.events, 0);
  const position = Number(last?.position ?? 0);
  const copiedBytes = writer.bytes();
  return { position, events, files: files.length, copiedEvents, copiedPayloads, copiedFiles, copiedBytes };
};
