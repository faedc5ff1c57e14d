import { BACKWARDS, END, type Position, type ResolvedEvent, START } from '@eventstore/db-client';
import { positionOf } from './eventstore-events.js';
import { readFault } from './eventstore-fault.js';
import { abandonRead, nodeOf, type LibraryRead } from './read-pages.js';
import type { Connection } from './nodes/connection.js';

/** Converts the position after which the log is to be read to a start position of the client library. */
export const startOf = (position: bigint): Position | typeof START => (position === 0n ? START : positionOf(position));

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
  const read: LibraryRead = (await nodeOf(connection)).readAll({
    direction: BACKWARDS,
    fromPosition: END,
    requiresLeader: true,
  });
  let after: { atOrAfter?: bigint } = {};
  try {
    for await (const { event } of read.iterator({ destroyOnReturn: false }) as AsyncIterable<ResolvedEvent>) {
      const at = event?.position?.commit ?? 0n;
      if (at >= position) after = { atOrAfter: at };
      if (at <= position) return { atOrBefore: at, ...after };
    }
    return { atOrBefore: 0n, ...after };
  } catch (error) {
    throw readFault(error);
  } finally {
    if (!read.readableEnded) abandonRead(read);
  }
};
