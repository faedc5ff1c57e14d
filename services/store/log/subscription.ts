import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogPage, Subscription } from '../../kernel/ports/event-store.js';
import type { LogHead } from './head.js';

/** Reads a page of the events after one position, up to and including another. */
export type ReadPage = (after: number, upTo: number) => LogPage;

type OnPage = (page: LogPage, isLive: boolean) => Promise<void> | void;

/**
 * Reads a log without end, one page at a time. `isLive` is true from the page on that reaches the head as it was at the
 * start; when there was nothing to read then, an empty live page comes first.
 */
export const subscribeTo = (head: LogHead, read: ReadPage, after: number, onPage: OnPage): Subscription => {
  const state = { isClosed: false, wake: (): void => undefined };

  const hasMoved = (position: number): boolean => {
    try {
      return head.position() > position;
    } catch {
      return true; // the read that follows fails with the same error, and reports it
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
      // Gives other work a turn of the event loop, which a handler that is always ready would otherwise block.
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
      await ended.catch(() => undefined); // `ended` reports it
    },
  };
};
