import { setTimeout as pause } from 'node:timers/promises';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { isSlowConsumer } from './eventstore-fault.js';
import { headOf } from './read-backwards.js';
import type { NodeConnection } from './nodes/connection.js';
import { isEvent, openRead, readStart } from './read-pages.js';
import { silenceCheck, watchSilence } from './silence.js';
import type { EventRead } from './wire/event-read.js';
import type { ReadAnswer } from './wire/read-answer.js';

/** Is called with each batch of new events, in log order. */
export type Listener = (events: readonly RecordedEvent[]) => void;

/** Delivers new events to all listeners of this process over one subscription. */
export interface StoreFeed {
  /**
   * Adds a listener, which is called with every event after the returned position `from`.
   *
   * @param after the start of the feed; only the first listener's is used.
   */
  listen(after: bigint, listener: Listener): { readonly from: bigint; readonly stop: () => void };
  close(): Promise<void>;
}

const PAUSE_MS = { first: 50, most: 2_000 } as const;

/** The pause after a delivery, in milliseconds: events under load form batches, and after a lull there is no delay. */
const BATCH_PAUSE_MS = 5;

/** Callbacks about the state of the subscription. */
export type FeedEvents = {
  /** Is called with the reason each time the subscription breaks. */
  readonly onFailure: (error: unknown) => void;
  /** Is called when the subscription ends for unread events; it is reopened, and no event is lost. */
  readonly onDrop: () => void;
};

const silent = (): StoreUnavailable =>
  new StoreUnavailable('the log has newer events, and the subscription has delivered none of them');

/** Removes events that were delivered before: a node that lags behind sends again what another node has sent. */
const eventsAfter = (position: bigint, answers: readonly ReadAnswer[]): readonly RecordedEvent[] =>
  answers.filter(isEvent).filter((event) => event.position > position);

/**
 * Follows the log from a position, including events of other writers, so that its position is comparable with the head.
 *
 * The subscription is reopened after the last event received when its connection breaks, when it falls silent while the
 * log grows, and when it ends because this process was too slow to read it. Listeners notice only a pause.
 */
export const liveFeed = (connection: NodeConnection, { onFailure, onDrop }: FeedEvents): StoreFeed => {
  const listeners = new Set<Listener>();
  let position: bigint | undefined;
  let read: EventRead | undefined;
  let isClosed = false;
  let ended = Promise.resolve();

  const deliver = async (from: EventRead, countReceived: () => void): Promise<never> => {
    for (;;) {
      const answers = await from.next();
      if (answers.length === 0) throw new Error('the event store has ended the subscription');
      const events = eventsAfter(position ?? 0n, answers);
      countReceived();
      const last = events.at(-1);
      if (last === undefined) continue;
      position = last.position;
      for (const listener of listeners) listener(events);
      await pause(BATCH_PAUSE_MS);
    }
  };

  const receive = async (from: bigint): Promise<void> => {
    let receivedCount = 0;
    const onReceived = (): void => void (receivedCount += 1);
    const fresh = (read = await openRead(connection, { from: readStart(from), isSubscription: true, isLive: true }));
    if (isClosed) fresh.close();
    const received = () => ({ receivedCount, position: position ?? from });
    const isSilent = silenceCheck(received, () => headOf(connection));
    const watch = watchSilence(isSilent, () => fresh.fail(silent()));
    await deliver(fresh, onReceived).finally(watch.stop);
  };

  const run = async (): Promise<void> => {
    const isOpen = (): boolean => !isClosed;
    let pauseMs: number = PAUSE_MS.first;
    while (isOpen()) {
      const before = position;
      const failure: unknown = await receive(position ?? 0n).catch((error: unknown) => error);
      if (isSlowConsumer(failure)) onDrop();
      else if (isOpen()) onFailure(failure);
      read?.close();
      if (position !== before && isSlowConsumer(failure)) continue;
      pauseMs = position === before ? Math.min(PAUSE_MS.most, pauseMs * 2) : PAUSE_MS.first;
      if (isOpen()) await pause(pauseMs);
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
      read?.close();
      await ended;
    },
  };
};
