import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogPage, Subscription } from '../../kernel/ports/event-store.js';
import type { LogHead } from './head.js';

/** What a subscription reads: a page of what follows a position, up to another. */
export type ReadPage = (after: number, upTo: number) => LogPage;

type OnPage = (page: LogPage, isLive: boolean) => Promise<void> | void;

/**
 * Reads a log without end, one page after another. The page that reaches the head of the start, or an empty one where
 * there was nothing to read, is the first one that is live.
 */
export const subscribeTo = (head: LogHead, read: ReadPage, after: number, onPage: OnPage): Subscription => {
  const state = { isClosed: false, wake: (): void => undefined };

  const hasMoved = (position: number): boolean => {
    try {
      return head.position() > position;
    } catch {
      return true; // the read that follows meets the same, and fails where it is seen
    }
  };

  const moved = (position: number): Promise<void> =>
    new Promise((resolve) => {
      state.wake = () => {
        if (state.isClosed || hasMoved(position)) resolve();
      };
      state.wake();
    });

  const run = async (): Promise<void> => {
    const start = head.position();
    let position = after;
    if (start <= after) await onPage({ events: [], position: BigInt(after) }, true);
    for (;;) {
      await moved(position);
      // Lets others have their turn: a handler that is always ready would keep them out.
      await nextTurn();
      if (state.isClosed) return;
      const page = read(position, head.position());
      position = Number(page.position);
      await onPage(page, position >= start);
    }
  };

  const stopListening = head.onMove(() => state.wake());
  const ended = run().finally(stopListening);
  return {
    ended,
    close: async () => {
      state.isClosed = true;
      state.wake();
      await ended.catch(() => undefined); // said by `ended` itself
    },
  };
};
