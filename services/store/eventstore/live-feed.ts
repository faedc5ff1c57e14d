import { setTimeout as pause } from 'node:timers/promises';
import { eventTypeFilter, START } from '@eventstore/db-client';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { positionOf } from './eventstore-events.js';
import { headOf, nodeOf } from './log-reads.js';
import type { Connection } from './nodes/connection.js';
import { silenceLook, watchSilence } from './silence.js';
import { takeEvents, type TakenEvents } from './taken-events.js';

/** One who listens to what is recorded. */
export type Listener = (events: readonly RecordedEvent[]) => void;

/** What is recorded, as it is recorded: one subscription for all who listen in this process. */
export interface LiveFeed {
  /**
   * Hears of everything after the position that it answers.
   *
   * @param after where the feed begins when nobody has listened before.
   */
  listen(after: bigint, listener: Listener): { readonly from: bigint; readonly stop: () => void };
  close(): Promise<void>;
}

const PAUSE_MS = { first: 50, most: 2_000 } as const;

/** Where much is recorded, what comes meanwhile is handed on together; the first after a while is not held up. */
const BREATH_MS = 5;

/** The server's own streams are left out by the server, which says now and then how far it has looked. */
const notSystem = (checkpointReached: () => void) => eventTypeFilter({ regex: '^[^$].*', checkpointReached });

const silent = (): StoreUnavailable =>
  new StoreUnavailable('the log has gone on, and the subscription has brought nothing of it');

/**
 * Follows the log from a position on. A connection that breaks is made again, and so is a subscription that falls silent
 * while the log goes on; both go on after the last event that came: listeners notice nothing but the pause.
 *
 * @param onTrouble hears why, each time.
 */
export const liveFeed = (connection: Connection, onTrouble: (error: unknown) => void): LiveFeed => {
  const listeners = new Set<Listener>();
  let position: bigint | undefined;
  let taken: TakenEvents | undefined;
  let isClosed = false;
  let ended = Promise.resolve();

  const handOn = async (from: TakenEvents, hear: () => void): Promise<never> => {
    for (;;) {
      const events = (await from.next()).filter((each) => each !== 'caught-up');
      hear();
      const last = events.at(-1);
      if (last === undefined) continue;
      position = last.position;
      for (const listener of listeners) listener(events);
      await pause(BREATH_MS);
    }
  };

  const take = async (from: bigint): Promise<void> => {
    let signs = 0;
    const hear = (): void => void (signs += 1);
    const fromPosition = from === 0n ? START : positionOf(from);
    const client = await nodeOf(connection);
    const fresh = (taken = takeEvents(client.subscribeToAll({ fromPosition, filter: notSystem(hear) })));
    const heard = () => ({ signs, position: position ?? from });
    const look = silenceLook(heard, () => headOf(connection));
    const watch = watchSilence(look, () => fresh.fail(silent()));
    await handOn(fresh, hear).finally(watch.stop);
  };

  const run = async (): Promise<void> => {
    const goesOn = (): boolean => !isClosed;
    let pauseMs: number = PAUSE_MS.first;
    while (goesOn()) {
      const before = position;
      await take(position ?? 0n).catch((error: unknown) => isClosed || onTrouble(error));
      await taken?.close();
      pauseMs = position === before ? Math.min(PAUSE_MS.most, pauseMs * 2) : PAUSE_MS.first;
      if (goesOn()) await pause(pauseMs);
    }
  };

  return {
    listen: (after, listener) => {
      listeners.add(listener);
      if (position === undefined) {
        position = after;
        ended = run();
      }
      return { from: position, stop: () => void listeners.delete(listener) };
    },
    close: async () => {
      isClosed = true;
      await taken?.close();
      await ended;
    },
  };
};
