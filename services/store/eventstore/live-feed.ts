import { setTimeout as pause } from 'node:timers/promises';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { isSlowConsumer } from './eventstore-fault.js';
import { startOf } from './places.js';
import { headOf } from './read-backwards.js';
import type { Connection } from './nodes/connection.js';
import { nodeOf } from './read-pages.js';
import { silenceLook, watchSilence } from './silence.js';
import { type Brought, takeEvents, type TakenEvents } from './taken-events.js';

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

/** Who hears of what becomes of the subscription. */
export type FeedEvents = {
  /** Hears why it broke, each time. */
  readonly onTrouble: (error: unknown) => void;
  /** Hears that the server has dropped it, since it left events unread: nothing is lost, and it has been made again. */
  readonly onDrop: () => void;
};

const silent = (): StoreUnavailable =>
  new StoreUnavailable('the log has gone on, and the subscription has brought nothing of it');

/** A node that lags behind brings again what another has brought. */
const eventsAfter = (position: bigint, brought: readonly Brought[]): readonly RecordedEvent[] =>
  brought.filter((each) => each !== 'caught-up').filter((event) => event.position > position);

/**
 * Follows the log from a position on, with whatever others write there: how far it is counts as the head does. A
 * connection that breaks is made again, and so is a subscription that falls silent while the log goes on, or that the
 * server drops because this process was busy for a moment; all go on after the last event that came: listeners notice
 * nothing but the pause, and after a drop there is none.
 */
export const liveFeed = (connection: Connection, { onTrouble, onDrop }: FeedEvents): LiveFeed => {
  const listeners = new Set<Listener>();
  let position: bigint | undefined;
  let taken: TakenEvents | undefined;
  let isClosed = false;
  let ended = Promise.resolve();

  const handOn = async (from: TakenEvents, hear: () => void): Promise<never> => {
    for (;;) {
      const events = eventsAfter(position ?? 0n, await from.next());
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
    const fresh = (taken = takeEvents(
      (await nodeOf(connection)).subscribeToAll({ fromPosition: startOf(from) }),
      'fail',
    ));
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
      const why: unknown = await take(position ?? 0n).catch((error: unknown) => error);
      if (isSlowConsumer(why)) onDrop();
      else if (goesOn()) onTrouble(why);
      await taken?.close();
      if (position !== before && isSlowConsumer(why)) continue;
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
