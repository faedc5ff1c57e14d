import type { AllStreamSubscription } from '@eventstore/db-client';
import type { RecordedEvent } from '../../kernel/event.js';
import { toOurs } from './eventstore-events.js';

/**
 * The maximum of buffered events. At it, a subscription that reads history is paused, and the server waits. A live one
 * would be dropped by the server for that, so it fails here instead, where the events received are not lost.
 */
const MAX_BUFFERED = { pause: 1_000, fail: 10_000 } as const;

/** An item of a subscription: an event, or the mark that it has caught up. */
export type SubscriptionItem = RecordedEvent | 'caught-up';

/** The items of a subscription, taken in batches. */
export interface SubscriptionBuffer {
  /**
   * Takes the items received since the last call; waits until there is at least one.
   *
   * @throws the error that ended the subscription.
   */
  next(): Promise<readonly SubscriptionItem[]>;
  /** Adds a `caught-up` mark after all events received so far. */
  mark(): void;
  /** Ends the subscription with an error, as if the server had. */
  fail(error: Error): void;
  close(): Promise<void>;
}

/**
 * Buffers the events of a subscription, with the marks in their right order: the client library reports that a
 * subscription has caught up before it delivers the events that precede that.
 */
export const subscriptionBuffer = (
  subscription: AllStreamSubscription,
  whenFull: keyof typeof MAX_BUFFERED = 'pause',
): SubscriptionBuffer => {
  let waiting: SubscriptionItem[] = [];
  let failure: Error | undefined;
  let isClosed = false;
  let wake = (): void => undefined;

  const full = (): void => {
    if (whenFull === 'pause') subscription.pause();
    else fail(new Error('Consumer too slow: received events are not read'));
  };
  const put = (brought: SubscriptionItem): void => {
    if (failure !== undefined) return;
    waiting.push(brought);
    if (waiting.length >= MAX_BUFFERED[whenFull]) full();
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
      subscription.resume(); // on close, the client waits until it is drained
      await subscription.unsubscribe().catch(() => undefined); // the subscription may have ended already
    },
  };
};
