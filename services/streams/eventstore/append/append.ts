import type { Appended, EventStore, ExpectedRevision } from '../../../kernel/ports/event-store.js';
import { RevisionConflict } from '../../../kernel/fault.js';
import type { StreamName } from '../../../kernel/stream.js';
import type { ClientAccess } from '../access.js';
import type { AppendRequest, Expected, WriteTarget } from './append-request.js';
import { errorOfStore, StreamTombstoned, WrongVersion } from '../failure.js';
import { ownEvent } from '../own-event.js';
import { lastRevision } from '../read/read.js';
import {
  isMarkedDeleted,
  marksDeleted,
  metadataStreamOf,
  readMetadata,
  type StreamRulesTable,
  STREAM_METADATA,
  TOMBSTONE,
} from '../stream-rules.js';

/** The services that writes use. */
export type AppendServices = {
  readonly store: EventStore;
  readonly access: ClientAccess;
  readonly rules: StreamRulesTable;
  readonly now: () => number;
  readonly newId: () => Uint8Array;
};

/**
 * The revision and position of the last event appended. After an append without events, `revision` is the last one of
 * the stream, `undefined` when none of its events is visible, and `position` is the head of the log.
 */
export type AppendResult = { readonly revision: bigint | undefined; readonly position: bigint };

/** Returns the last revision as clients see it: `undefined` for a deleted stream, too. */
const visibleRevision = async (
  { rules }: AppendServices,
  stream: StreamName,
  last: bigint | undefined,
): Promise<bigint | undefined> => {
  const { truncateBefore } = await rules.of(stream);
  return last !== undefined && truncateBefore > last ? undefined : last;
};

/** @throws {StreamTombstoned} when the stream was deleted permanently. */
const assertNotTombstoned = async ({ rules }: AppendServices, stream: StreamName): Promise<void> => {
  if ((await rules.of(stream)).isTombstoned) throw new StreamTombstoned(stream);
};

const isMet = (expected: Expected, current: bigint | undefined): boolean => {
  if (expected === 'any') return true;
  if (expected === 'no-stream') return current === undefined;
  return expected === 'stream-exists' ? current !== undefined : expected === current;
};

const wrongVersion = async (writing: AppendServices, target: WriteTarget): Promise<WrongVersion> => {
  const last = await lastRevision(writing.store, target.stream);
  return new WrongVersion(target, await visibleRevision(writing, target.stream, last));
};

/**
 * Converts the expectation of a client to that of the store. Only two expectations need a read of the stream: that it
 * exists, and that it does not exist after it was deleted or truncated.
 *
 * @throws {WrongVersion} when the stream that was read does not meet the expectation.
 */
const expectedRevision = async (writing: AppendServices, target: WriteTarget): Promise<ExpectedRevision> => {
  const { stream, expected } = target;
  const isRuled = (await writing.rules.of(stream)).truncateBefore > 0n;
  if (expected !== 'stream-exists' && !(expected === 'no-stream' && isRuled)) return expected;
  const last = await lastRevision(writing.store, stream);
  const current = await visibleRevision(writing, stream, last);
  if (!isMet(expected, current)) throw new WrongVersion(target, current);
  return expected === 'stream-exists' ? 'any' : (last ?? 'no-stream');
};

const onlyCheck = async (writing: AppendServices, target: WriteTarget): Promise<AppendResult> => {
  const { stream, expected } = target;
  const revision = await visibleRevision(writing, stream, await lastRevision(writing.store, stream));
  if (!isMet(expected, revision)) throw new WrongVersion(target, revision);
  return { revision, position: await writing.store.head() };
};

/**
 * Appends metadata of a stream, which takes effect at once.
 *
 * @throws {RevisionConflict} when the metadata stream is not at `expected`.
 */
const appendMetadata = async (
  writing: AppendServices,
  target: StreamName,
  metadata: object,
  expected: ExpectedRevision = 'any',
): Promise<Appended> => {
  const event = ownEvent(writing, STREAM_METADATA, { data: JSON.stringify(metadata) });
  const stream = metadataStreamOf(target) as StreamName;
  const appended = await writing.store.append(stream, expected, [event]);
  writing.rules.apply({ ...event, stream });
  return appended;
};

/**
 * Before an append to a stream that EventStoreDB has deleted, changes the stream's metadata so that only the present
 * events stay hidden, as EventStoreDB does. All other metadata stays. An append that the store is going to refuse
 * changes nothing.
 */
const showLaterEvents = async (
  writing: AppendServices,
  stream: StreamName,
  expected: ExpectedRevision,
): Promise<void> => {
  const { rules, store } = writing;
  if (!isMarkedDeleted(await rules.of(stream))) return;
  // Metadata that is written after this read makes the append below conflict.
  const revision = await lastRevision(store, metadataStreamOf(stream) as StreamName);
  const metadata = await readMetadata(store, stream);
  const last = await lastRevision(store, stream);
  if (!marksDeleted(metadata) || (typeof expected === 'bigint' && expected !== last)) return;
  try {
    await appendMetadata(writing, stream, { ...metadata, $tb: Number((last ?? -1n) + 1n) }, revision ?? 'no-stream');
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    await showLaterEvents(writing, stream, expected);
  }
};

/** An append in flight. Its order among the appends is settled when a caller has this; its outcome follows later. */
export type LaunchedAppend = { readonly outcome: Promise<AppendResult> };

const outcomeOf = async (
  writing: AppendServices,
  request: AppendRequest,
  appended: Promise<Appended>,
): Promise<AppendResult> => {
  const { stream, events } = request;
  try {
    const written = await appended;
    for (const event of events) writing.rules.apply({ ...event, stream });
    return written;
  } catch (error) {
    throw error instanceof RevisionConflict ? await wrongVersion(writing, request) : errorOfStore(stream, error);
  }
};

/**
 * Checks an append and passes it to the store. Appends launched one after another are written in that order.
 *
 * @throws {RpcError} PERMISSION_DENIED when clients may not append to the stream.
 * @throws {StreamTombstoned} here or as the outcome, when the stream was deleted permanently.
 * @throws {WrongVersion} here or as the outcome, when the stream is not at the expected revision.
 */
export const launchAppend = async (writing: AppendServices, request: AppendRequest): Promise<LaunchedAppend> => {
  const { stream, events } = request;
  writing.access.assertWritable(stream);
  await assertNotTombstoned(writing, stream);
  if (events.length === 0) return { outcome: onlyCheck(writing, request) };
  const expected = await expectedRevision(writing, request);
  await showLaterEvents(writing, stream, expected);
  return { outcome: outcomeOf(writing, request, writing.store.append(stream, expected, events)) };
};

/**
 * Checks that a stream may be deleted.
 *
 * @returns its last revision, also when that event is hidden; `undefined` without events.
 * @throws as {@link deleteStream}.
 */
const assertDeletable = async (writing: AppendServices, target: WriteTarget): Promise<bigint | undefined> => {
  const { stream, expected } = target;
  writing.access.assertDeletable(stream);
  await assertNotTombstoned(writing, stream);
  const last = await lastRevision(writing.store, stream);
  const current = await visibleRevision(writing, stream, last);
  if (!isMet(expected, current)) throw new WrongVersion(target, current);
  return last;
};

/**
 * Hides the present events of a stream. Events appended later are visible, and their revisions continue. Other metadata
 * of the stream goes, as in EventStoreDB.
 *
 * @throws {RpcError} PERMISSION_DENIED when this server does not delete streams.
 * @throws {StreamTombstoned} when the stream was deleted permanently.
 * @throws {WrongVersion} when the stream is not at the expected revision.
 */
export const deleteStream = async (writing: AppendServices, target: WriteTarget): Promise<AppendResult> => {
  const last = await assertDeletable(writing, target);
  return appendMetadata(writing, target.stream, { $tb: Number((last ?? -1n) + 1n) });
};

/**
 * Deletes a stream permanently: it can neither be read nor written again.
 *
 * @throws as {@link deleteStream}.
 */
export const tombstoneStream = async (writing: AppendServices, target: WriteTarget): Promise<AppendResult> => {
  await assertDeletable(writing, target);
  const events = [ownEvent(writing, TOMBSTONE, { data: '', isJson: false })];
  const { outcome } = await launchAppend(writing, { ...target, events });
  return outcome;
};
