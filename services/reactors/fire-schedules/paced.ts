import type { Timers } from '../../kernel/ports/timers.js';
import { type Due, dueQueue } from '../frame/due-queue.js';

/** Items that are released one by one. */
export interface PacedQueue<Item> {
  add(item: Item): void;
  size(): number;
  /** Starts the release of items. */
  open(): void;
  close(): void;
}

/** Makes a queue that releases at most `perSecond` items in a second, the one with the earliest time first. */
export const paced = <Item extends Due>(
  timers: Timers,
  { perSecond, release }: { readonly perSecond: number; readonly release: (item: Item) => void },
): PacedQueue<Item> => {
  const waiting = dueQueue<Item>();
  const state = { isOpen: false, isArmed: false, cancel: (): void => undefined };

  const step = (): void => {
    state.isArmed = false;
    const item = waiting.pop();
    if (item !== undefined) release(item);
    arm();
  };
  const arm = (): void => {
    if (!state.isOpen || state.isArmed || waiting.size() === 0) return;
    state.isArmed = true;
    state.cancel = timers.after(1_000 / perSecond, step);
  };
  return {
    add: (item) => {
      waiting.push(item);
      arm();
    },
    size: waiting.size,
    open: () => {
      state.isOpen = true;
      arm();
    },
    close: () => {
      state.isOpen = false;
      state.cancel();
    },
  };
};
