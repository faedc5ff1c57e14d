import { randomUUID } from 'node:crypto';
import { BACKWARDS, END, type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import { IDENTITY_STREAM } from '../../kernel/ports/log-identity.js';
import { permanentFault, isAccessDenied, isNotFound } from './eventstore-fault.js';

/** The log format that this release knows; an identity without a format has the first. */
const FORMAT = 1;

type Identity = { readonly logId?: string; readonly format?: number };

const readable = ({ logId, format = FORMAT }: Identity): string | undefined => {
  if (format <= FORMAT) return logId;
  throw new StoreUnavailable(
    `a newer release has written the log in the event store (format ${format}; this release knows ${FORMAT}): start that one`,
  );
};

const recordedId = async (client: EventStoreDBClient): Promise<string | undefined> => {
  try {
    // Reads to the end: on close, the client waits for reads that were left early.
    let logId: string | undefined;
    const last = { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true } as const;
    for await (const { event } of client.readStream(IDENTITY_STREAM, last)) {
      logId = readable((event?.data ?? {}) as Identity);
    }
    return logId;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
};

/**
 * Reads the identity of the log in an event store. The first process writes one; of several at once, one wins.
 *
 * @throws {StoreUnavailable} when a newer release has written the log, or this user may not write the identity.
 */
export const logIdentity = async (client: EventStoreDBClient): Promise<string> => {
  const known = await recordedId(client);
  if (known !== undefined) return known;
  const logId = randomUUID();
  try {
    await client.appendToStream(IDENTITY_STREAM, jsonEvent({ type: 'LogStarted', data: { logId } }), {
      expectedRevision: NO_STREAM,
    });
    return logId;
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

/** Gives the log a new identity. No other process may have the log open. */
export const renewIdentity = async (client: EventStoreDBClient): Promise<{ before: string; after: string }> => {
  const before = await logIdentity(client);
  const after = randomUUID();
  await client.appendToStream(IDENTITY_STREAM, jsonEvent({ type: 'LogRenewed', data: { logId: after } }));
  return { before, after };
};
