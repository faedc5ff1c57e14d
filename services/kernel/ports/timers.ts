/** A clock, and what is to be done later by it. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something after so many milliseconds, at once when there are none left, unless the answer is called before. */
  after(delayMs: number, run: () => void): () => void;
}
