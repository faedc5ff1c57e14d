import { setTimeout as pause } from 'node:timers/promises';
import type { ResolvedEvent, StreamingRead } from '@eventstore/db-client';
import type { EventFilter } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { categoryOf } from '../../kernel/stream.js';
import { toOurs } from './eventstore-events.js';
import { isNotFound, readFault } from './eventstore-fault.js';
import { isForeign } from './log-identity.js';
import type { Connection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';

/** The server's own events begin so, such as `$streamDeleted`, also in streams of ours. */
const OF_SERVER = '$';

/** True for the events that a reader with this filter is to see; never for those of the server itself. */
export const isWanted = (filter: EventFilter | undefined, { stream, type }: RecordedEvent): boolean =>
  !isForeign(stream) &&
  !type.startsWith(OF_SERVER) &&
  (filter?.categories?.includes(categoryOf(stream)) ?? true) &&
  (filter?.types?.includes(type) ?? true);

/** A node that lags behind does not have what the leader has shown: what a decision or an answer rests on is the leader's. */
export const LEADER = { requiresLeader: true } as const;

/** Events of a page, at most. */
export const PAGE_EVENTS = 200;

/** What the client reads from: a stream that ends. */
export type Read = StreamingRead<ResolvedEvent>;

/**
 * Leaves a read before its end. It has to run out all the same: the client waits for each of its streams when it is
 * closed, and one that nobody takes from never ends.
 */
export const leave = (read: Read): void => {
  read.on('error', () => undefined);
  read.resume();
  read.cancel().catch(() => undefined); // it may never have begun
};

/** The client of the node to read from. */
export const nodeOf = async (connection: Connection): Promise<NodeClient> => {
  try {
    return await connection.client();
  } catch (error) {
    throw readFault(error);
  }
};

/** Pages of what the client reads; its errors become faults. A stream that is not there has none. */
export async function* pagesOf(read: Read): AsyncGenerator<RecordedEvent[]> {
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
    if (!read.readableEnded) leave(read);
  }
  if (page.length > 0) yield page;
}

const PATIENCE_MS = [20, 100, 500] as const;

/** Begins a read again whose connection is found to be broken, unless it has brought something already. */
export async function* patiently<Page>(read: () => AsyncGenerator<Page>): AsyncGenerator<Page> {
  for (const pauseMs of [...PATIENCE_MS, undefined]) {
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
