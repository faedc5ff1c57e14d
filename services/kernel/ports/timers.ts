/** A clock with timers. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Runs `run` after `delayMs` milliseconds, never before this call returns; a negative delay counts as 0.
   *
   * @returns a function that cancels it.
   */
  after(delayMs: number, run: () => void): () => void;
}

/** The longest delay of `setTimeout`, in milliseconds; a longer one overflows, and the timer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
