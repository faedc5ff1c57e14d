import { randomUUID } from 'node:crypto';
import { BACKWARDS, END, type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import { IDENTITY_STREAM } from '../../kernel/ports/log-identity.js';
import { finalFault, isAccessDenied, isNotFound } from './eventstore-fault.js';

/** Whether an event is none of the log's: the server's own, or the log's name. */
export const isForeign = (stream: string): boolean => stream.startsWith('$') || stream === IDENTITY_STREAM;

/** How the streams of the log are to be read; an identity that does not say is of the first. */
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
    // To its end: the client waits for a read that is left when it is closed.
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

/** The identity of the log in an event store. The first process gives it one; of several at once, one wins. */
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
    if (finalFault(error) instanceof RevisionConflict) return logIdentity(client);
    if (isAccessDenied(error))
      throw new StoreUnavailable(
        `the event store has no log yet, and denies this user to begin one by an append to ${IDENTITY_STREAM}: ` +
          'name a user who may in the connection string (esdb://USER:PASSWORD@HOST)',
        error,
      );
    throw error;
  }
};

/** Gives the log another identity from now on, when nobody has it open. */
export const renewIdentity = async (client: EventStoreDBClient): Promise<{ before: string; after: string }> => {
  const before = await logIdentity(client);
  const after = randomUUID();
  await client.appendToStream(IDENTITY_STREAM, jsonEvent({ type: 'LogRenewed', data: { logId: after } }));
  return { before, after };
};
