import { BACKWARDS, END, type Position, type ResolvedEvent, START } from '@eventstore/db-client';
import { positionOf } from './eventstore-events.js';
import { readFault } from './eventstore-fault.js';
import { leave, nodeOf, type Read } from './read-pages.js';
import type { Connection } from './nodes/connection.js';

/** Where a read of all begins that is to bring what follows a position. */
export const startOf = (position: bigint): Position | typeof START => (position === 0n ? START : positionOf(position));

/** The places of events next to a position that may be none. */
export type Places = {
  /** The last at or before it; 0n where there is none. */
  readonly atOrBefore: bigint;
  /** The first at or after it; absent where the log ends before it. */
  readonly atOrAfter?: bigint;
};

/**
 * Finds the places next to a position. A server has no other way to them than to read: it is read from the end of the
 * log, since positions that are asked for are recent ones nearly always.
 *
 * @throws {StoreUnavailable} when the log cannot be read.
 */
export const placesAround = async (connection: Connection, position: bigint): Promise<Places> => {
  const read: Read = (await nodeOf(connection)).readAll({
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
    if (!read.readableEnded) leave(read);
  }
};
