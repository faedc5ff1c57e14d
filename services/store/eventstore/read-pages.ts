import { setTimeout as pause } from 'node:timers/promises';
import type { ResolvedEvent, StreamingRead } from '@eventstore/db-client';
import type { EventFilter } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { categoryOf } from '../../kernel/stream.js';
import { toOurs } from './eventstore-events.js';
import { isNotFound, readFault } from './eventstore-fault.js';
import type { Connection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';

/** The server's own events begin so, such as `$streamDeleted`, also in streams of ours. */
const SERVER_TYPE_PREFIX = '$';

/** True for the events that a reader with this filter is to see; never for those of the server itself. */
export const isWanted = (filter: EventFilter | undefined, { stream, type }: RecordedEvent): boolean =>
  !isSystemStream(stream) &&
  !type.startsWith(SERVER_TYPE_PREFIX) &&
  (filter?.categories?.includes(categoryOf(stream)) ?? true) &&
  (filter?.types?.includes(type) ?? true);

/** Reads go to the leader: a node that lags behind would give stale data to decisions and answers. */
export const LEADER = { requiresLeader: true } as const;

/** The maximum number of events in a page. */
export const PAGE_EVENTS = 200;

/** An open read of the client library. */
export type LibraryRead = StreamingRead<ResolvedEvent>;

/**
 * Abandons a read before its end. The stream is still drained: on close, the client waits for all its streams, and one
 * that is not read never ends.
 */
export const abandonRead = (read: LibraryRead): void => {
  read.on('error', () => undefined);
  read.resume();
  read.cancel().catch(() => undefined); // the read may have failed to open
};

/**
 * Returns the client of the node to read from.
 *
 * @throws {StoreUnavailable} when there is none.
 */
export const nodeOf = async (connection: Connection): Promise<NodeClient> => {
  try {
    return await connection.client();
  } catch (error) {
    throw readFault(error);
  }
};

/** Collects a read into pages, and converts its errors to faults; no pages when the stream does not exist. */
export async function* pagesOf(read: LibraryRead): AsyncGenerator<RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  try {
    for await (const { event } of read.iterator({ destroyOnReturn: false }) as AsyncIterable<ResolvedEvent>) {
      if (event === undefined) continue;
      page.push(toOurs(event));
      if (page.length < PAGE_EVENTS) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    if (isNotFound(error)) return;
    throw readFault(error);
  } finally {
    if (!read.readableEnded) abandonRead(read);
  }
  if (page.length > 0) yield page;
}

/** The pauses between attempts of a read, in milliseconds. */
const RETRY_PAUSES_MS = [20, 100, 500] as const;

/** Retries a read that fails with {@link StoreUnavailable} before its first page, with the pauses above. */
export async function* retryUnavailable<Page>(read: () => AsyncGenerator<Page>): AsyncGenerator<Page> {
  for (const pauseMs of [...RETRY_PAUSES_MS, undefined]) {
    let hasBegun = false;
    try {
      for await (const page of read()) {
        hasBegun = true;
        yield page;
      }
      return;
    } catch (error) {
      if (hasBegun || pauseMs === undefined || !(error instanceof StoreUnavailable)) throw error;
    }
    await pause(pauseMs);
  }
}
