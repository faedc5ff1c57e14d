import { setImmediate as nextTurn } from 'node:timers/promises';

/** A reader keeps the thread for no longer than this at a time, in milliseconds. */
const TURN_MS = 10;

/** Lets others have their turn where a reader has had its own: what it looks at may be dear, such as by an expression. */
export type Turns = () => Promise<void> | undefined;

/** The turns of one reader. */
export const takingTurns = (): Turns => {
  let since = performance.now();
  return () => {
    if (performance.now() - since < TURN_MS) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
};
