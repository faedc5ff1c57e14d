import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest time for which a reader keeps the thread at a time, in milliseconds. */
const TURN_MS = 10;

/**
 * Yields the thread to other calls when a reader has used its time. Examining an event may be expensive, for example
 * with a regular expression. Returns `undefined` when the reader may go on at once.
 */
export type YieldTurn = () => Promise<void> | undefined;

/** Makes the turns of one reader. */
export const createYieldTurn = (): YieldTurn => {
  let since = performance.now();
  return () => {
    if (performance.now() - since < TURN_MS) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
};
