import type { EventFilter } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { categoryOf } from '../../kernel/stream.js';
import { readFault } from './eventstore-fault.js';
import type { NodeConnection } from './nodes/connection.js';
import { type EventRead, eventRead } from './wire/event-read.js';
import type { ReadAnswer } from './wire/read-answer.js';
import type { ReadParameters } from './wire/read-request.js';

/** The types of the server's own events begin with it, such as `$streamDeleted`; any stream can have such events. */
const SERVER_TYPE_PREFIX = '$';

/** True for the events that a reader with this filter is to see; never for those of the server itself. */
export const isWanted = (filter: EventFilter | undefined, { stream, type }: RecordedEvent): boolean =>
  !isSystemStream(stream) &&
  !type.startsWith(SERVER_TYPE_PREFIX) &&
  (filter?.categories?.includes(categoryOf(stream)) ?? true) &&
  (filter?.types?.includes(type) ?? true);

/** Reads go to the leader: a node that lags behind would give stale data to decisions and answers. */
export const LEADER = { requiresLeader: true } as const;

/** The number of events in a full page. Pages of the log read backwards or with a filter may have more. */
export const PAGE_EVENTS = 200;

/** Converts the position after which the log is to be read to the start of a read. */
export const readStart = (position: bigint): bigint | 'start' => (position === 0n ? 'start' : position);

/**
 * Opens a read on the node that calls go to at present. The caller closes it.
 *
 * @throws {StoreUnavailable} when there is none.
 */
export const openRead = async (connection: NodeConnection, parameters: ReadParameters): Promise<EventRead> => {
  try {
    return eventRead(await connection.client(), parameters);
  } catch (error) {
    throw readFault(error);
  }
};

/** True for the answers that are events. */
export const isEvent = (answer: ReadAnswer): answer is RecordedEvent => !('mark' in answer);

/** The events of a read as they arrive, its errors as faults; none when the stream does not exist. */
export async function* eventsOf(
  connection: NodeConnection,
  parameters: ReadParameters,
): AsyncGenerator<RecordedEvent[]> {
  const read = await openRead(connection, parameters);
  try {
    for (;;) {
      const answers = await read.next();
      if (answers.length === 0) return;
      const events = answers.filter(isEvent);
      if (events.length > 0) yield events;
    }
  } catch (error) {
    throw readFault(error);
  } finally {
    read.close();
  }
}

/** Collects the events of a read into pages, all of them full but the last, which may have fewer events. */
export async function* pagesOf(
  connection: NodeConnection,
  parameters: ReadParameters,
): AsyncGenerator<RecordedEvent[]> {
  let rest: RecordedEvent[] = [];
  for await (const events of eventsOf(connection, parameters)) {
    rest = rest.length === 0 ? events : rest.concat(events);
    for (; rest.length >= PAGE_EVENTS; rest = rest.slice(PAGE_EVENTS)) yield rest.slice(0, PAGE_EVENTS);
  }
  if (rest.length > 0) yield rest;
}

/** The pauses between attempts of a read, in milliseconds. */
const RETRY_PAUSES_MS = [20, 100, 500] as const;

/**
 * The time after which no further attempt begins, in milliseconds: a read that gets no answer fails after 4 s, and a
 * call that needs it is to fail within 10 s.
 */
const RETRY_MS = 6_000;

/**
 * Retries a read that fails with {@link StoreUnavailable} before its first page, with the pauses above. A read that a
 * node takes and never answers fails within 10 s. A read that gets answers has no limit of time: with a filter, its
 * first page comes with the first event that matches.
 */
export async function* retryRead<Page>(read: () => AsyncGenerator<Page>): AsyncGenerator<Page> {
  const until = performance.now() + RETRY_MS;
  for (const pauseMs of [...RETRY_PAUSES_MS, undefined]) {
    let hasBegun = false;
    try {
      for await (const page of read()) {
        hasBegun = true;
        yield page;
      }
      return;
    } catch (error) {
      const isLast = pauseMs === undefined || performance.now() + pauseMs >= until;
      if (hasBegun || isLast || !(error instanceof StoreUnavailable)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
