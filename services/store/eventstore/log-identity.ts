import { randomUUID } from 'node:crypto';
import { BACKWARDS, END, type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import { IDENTITY_STREAM } from '../../kernel/ports/log-identity.js';
import { permanentFault, isAccessDenied, isNotFound } from './eventstore-fault.js';

/**
 * The newest form of a log in an event store that this release can use; an identity without one has the first. The
 * format of events (ADR 27) is another number.
 */
const FORMAT = 1;

/** The data of an event of the identity stream, of which the last one counts. */
type StoredIdentity = { readonly logId?: string; readonly copyOf?: string; readonly format?: number };

/** The id of a log, and that of the log that it is a copy of, until it takes over. */
export type LogIdentity = { readonly logId: string; readonly copyOf?: string | undefined };

const readable = ({ logId, copyOf, format = FORMAT }: StoredIdentity): LogIdentity => {
  if (format > FORMAT)
    throw new StoreUnavailable(
      `a newer release has written the log in the event store (form ${format} of its identity; this release knows ${FORMAT}): start that one`,
    );
  if (logId === undefined)
    throw new StoreUnavailable(`the last event of stream ${IDENTITY_STREAM} in the event store has no field logId`);
  return { logId, copyOf };
};

const recordedIdentity = async (client: EventStoreDBClient): Promise<LogIdentity | undefined> => {
  try {
    // Reads to the end: on close, the client waits for reads that were left early.
    let identity: LogIdentity | undefined;
    const last = { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true } as const;
    for await (const { event } of client.readStream(IDENTITY_STREAM, last)) {
      identity = readable((event?.data ?? {}) as StoredIdentity);
    }
    return identity;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
};

/**
 * Reads the identity of the log in an event store. The first process writes one; of several at once, one wins.
 *
 * @throws {StoreUnavailable} when a newer release has written the log, when the stored identity is damaged, or when
 * this user may not write the identity.
 */
export const logIdentity = async (client: EventStoreDBClient): Promise<LogIdentity> => {
  const known = await recordedIdentity(client);
  if (known !== undefined) return known;
  const logId = randomUUID();
  try {
    await client.appendToStream(IDENTITY_STREAM, jsonEvent({ type: 'LogStarted', data: { logId } }), {
      expectedRevision: NO_STREAM,
    });
    return { logId };
  } catch (error) {
    if (permanentFault(error) instanceof RevisionConflict) return logIdentity(client);
    if (isAccessDenied(error))
      throw new StoreUnavailable(
        `the event store has no log yet, and does not allow this user to create one by an append to ${IDENTITY_STREAM}: ` +
          'name a user with write access in the connection string (esdb://USER:PASSWORD@HOST)',
        error,
      );
    throw error;
  }
};

const record = async (client: EventStoreDBClient, type: string, data: LogIdentity): Promise<void> => {
  await client.appendToStream(IDENTITY_STREAM, jsonEvent({ type, data: { ...data } }));
};

/**
 * Gives the log a new identity, as a copy of the one before or in its place. No other process may have the log open.
 */
export const renewIdentity = async (
  client: EventStoreDBClient,
  isCopy: boolean,
): Promise<{ before: string; after: string }> => {
  const { logId: before, copyOf } = await logIdentity(client);
  const after = randomUUID();
  await record(client, 'LogRenewed', { logId: after, copyOf: isCopy ? before : copyOf });
  return { before, after };
};

/** Notes that the log is a copy of another. */
export const markCopy = async (client: EventStoreDBClient, original: string): Promise<void> => {
  const { logId, copyOf } = await logIdentity(client);
  if (copyOf !== original) await record(client, 'LogCopied', { logId, copyOf: original });
};

/** Notes that the log is no longer a copy, and gives its identity as it was before. */
export const takeIdentityOver = async (client: EventStoreDBClient): Promise<LogIdentity> => {
  const { logId, copyOf } = await logIdentity(client);
  if (copyOf !== undefined) await record(client, 'LogTakenOver', { logId });
  return { logId, copyOf };
};
