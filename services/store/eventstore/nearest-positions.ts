import { BACKWARDS } from '@eventstore/db-client';
import { eventsOf, LEADER } from './read-pages.js';
import type { Connection } from './nodes/connection.js';

/** The positions of the events next to a given position, which may be between two events. */
export type NearestPositions = {
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
export const nearestPositions = async (connection: Connection, position: bigint): Promise<NearestPositions> => {
  let after: { atOrAfter?: bigint } = {};
  for await (const events of eventsOf(connection, { direction: BACKWARDS, from: 'end', ...LEADER }))
    for (const { position: at } of events) {
      if (at >= position) after = { atOrAfter: at };
      if (at <= position) return { atOrBefore: at, ...after };
    }
  return { atOrBefore: 0n, ...after };
};
