/** A clock with timers. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Runs `run` after `delayMs` milliseconds, or at once when that is 0 or less.
   *
   * @returns a function that cancels it.
   */
  after(delayMs: number, run: () => void): () => void;
}

/** The longest delay of `setTimeout`, in milliseconds; a longer one overflows, and the timer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
