import { BACKWARDS } from '@eventstore/db-client';

import type { RecordedEvent } from '../../kernel/event.js';
import type { ReadLogBackwardsOptions } from '../../kernel/ports/event-store.js';
import { isNoEventPosition } from './eventstore-fault.js';
import type { NodeConnection } from './nodes/connection.js';
import { eventsOf, isWanted, LEADER, PAGE_EVENTS, retryRead } from './read-pages.js';

/** The positions of the events next to a given position, which may be between two events. */
type NearestPositions = {
  /** The last at or before it; 0n when there is none. */
  readonly atOrBefore: bigint;
  /** The first at or after it; absent when the log ends before it. */
  readonly atOrAfter?: bigint;
};

/**
 * Finds the positions of the events next to a position. The server can only find them by a read, which goes backwards
 * from the end of the log, because nearly all requested positions are recent.
 *
 * @throws {StoreUnavailable} when the log cannot be read.
 */
export const nearestPositions = async (connection: NodeConnection, position: bigint): Promise<NearestPositions> => {
  let after: { atOrAfter?: bigint } = {};
  for await (const events of eventsOf(connection, { direction: BACKWARDS, from: 'end', ...LEADER }))
    for (const { position: at } of events) {
      if (at >= position) after = { atOrAfter: at };
      if (at <= position) return { atOrBefore: at, ...after };
    }
  return { atOrBefore: 0n, ...after };
};

/** The largest position in the protocol. */
const MAX_POSITION = 2n ** 63n - 1n;

/** The number of additional events to read, because a page may contain events that are not part of the log. */
const FOREIGN_EVENTS = 16;

/** Reads events before the position of an event, or from the end; includes those that are not part of the log. */
const eventsBefore = async (
  connection: NodeConnection,
  before: bigint | undefined,
  maxCount: number,
): Promise<RecordedEvent[]> => {
  const found: RecordedEvent[] = [];
  const options = { direction: BACKWARDS, from: before ?? 'end', count: maxCount, ...LEADER } as const;
  for await (const events of eventsOf(connection, options)) found.push(...events);
  return found;
};

/** Reads events before any position. The server reads backwards only from positions of events, or from the end. */
const eventsBeforeAny = async (...[connection, before, maxCount]: Parameters<typeof eventsBefore>) => {
  try {
    return await eventsBefore(connection, before, maxCount);
  } catch (error) {
    if (before === undefined || !isNoEventPosition(error)) throw error;
    return eventsBefore(connection, (await nearestPositions(connection, before)).atOrAfter, maxCount);
  }
};

/** Reads the log backwards in pages, from its end or from before a position. */
export async function* readLogBackwards(
  connection: NodeConnection,
  { before, limit = Infinity }: ReadLogBackwardsOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  let from = before === undefined || before > MAX_POSITION ? undefined : before;
  // Events that are appended while the place of `before` is looked up may come, too.
  const isAsked = (event: RecordedEvent): boolean =>
    (before === undefined || event.position < before) && isWanted(undefined, event);
  let left = limit;
  while (left > 0 && from !== 0n) {
    const maxCount = Math.min(left, PAGE_EVENTS) + FOREIGN_EVENTS;
    const found = await eventsBeforeAny(connection, from, maxCount);
    const wanted = found.filter(isAsked).slice(0, left);
    if (wanted.length > 0) yield wanted;
    if (found.length < maxCount) return;
    left -= wanted.length;
    from = found.at(-1)?.position;
  }
}

async function* lastEvent(connection: NodeConnection): AsyncGenerator<RecordedEvent> {
  yield* await eventsBefore(connection, undefined, 1);
}

/**
 * Reads the position of the last event of any writer; 0n when there is none. Events that are not part of the log count
 * as well, because readers advance their positions over them and are compared with this.
 */
export const headOf = async (connection: NodeConnection): Promise<bigint> => {
  for await (const { position } of retryRead(() => lastEvent(connection))) return position;
  return 0n;
};
