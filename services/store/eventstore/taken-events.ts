import type { AllStreamSubscription } from '@eventstore/db-client';
import type { RecordedEvent } from '../../kernel/event.js';
import { toOurs } from './eventstore-events.js';

/**
 * Events that wait to be taken. Beyond it a subscription that reads history is not listened to: the server waits. One
 * that follows what comes would be dropped by the server for that; it fails here, where what it brought is not lost.
 */
const MOST_WAITING = { pause: 1_000, fail: 10_000 } as const;

/** What a subscription has brought, in order: events, or that it has caught up. */
export type Brought = RecordedEvent | 'caught-up';

/** The events of a subscription, taken one batch after another. */
export interface TakenEvents {
  /**
   * What has come since, at least one.
   *
   * @throws whatever ended the subscription.
   */
  next(): Promise<readonly Brought[]>;
  /** Marks this place in the order: what was brought before it is taken before it. */
  mark(): void;
  /** Ends it with an error, as the server would. */
  fail(error: Error): void;
  close(): Promise<void>;
}

/**
 * Takes events as they come, with marks in their places: the client says that a subscription has caught up before it
 * hands over the events that came before that.
 */
export const takeEvents = (
  subscription: AllStreamSubscription,
  whenFull: keyof typeof MOST_WAITING = 'pause',
): TakenEvents => {
  let waiting: Brought[] = [];
  let failure: Error | undefined;
  let isClosed = false;
  let wake = (): void => undefined;

  const full = (): void => {
    if (whenFull === 'pause') subscription.pause();
    else fail(new Error('Consumer too slow: what comes is not taken'));
  };
  const put = (brought: Brought): void => {
    if (failure !== undefined) return;
    waiting.push(brought);
    if (waiting.length >= MOST_WAITING[whenFull]) full();
    wake();
  };
  const mark = (): void => {
    if (isClosed) return;
    if (subscription.readableLength === 0 && !subscription.isPaused()) put('caught-up');
    else setTimeout(mark, 1);
  };

  const fail = (error: Error): void => {
    failure ??= error;
    wake();
  };

  subscription.on('data', ({ event }) => event && put(toOurs(event)));
  subscription.on('caughtUp', mark);
  subscription.on('error', fail);
  subscription.on('end', () => fail(new Error('the event store has ended the subscription')));

  return {
    mark,
    fail,
    next: async () => {
      if (waiting.length === 0 && failure === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        wake = () => undefined;
      }
      if (waiting.length === 0) throw failure ?? new Error('closed');
      const taken = waiting;
      waiting = [];
      if (subscription.isPaused()) subscription.resume();
      return taken;
    },
    close: async () => {
      isClosed = true;
      fail(new Error('closed'));
      subscription.resume(); // it has to run out, or the client waits for it when it is closed
      await subscription.unsubscribe().catch(() => undefined); // it may have ended by itself
    },
  };
};
