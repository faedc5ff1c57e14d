/** The delays after which failed work is tried again, and when it is given up. All times in milliseconds. */
export type WorkRetryPolicy = {
  /** The longest delay after the first failure; it doubles with each further one, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Work that fails is given up after this time, which a work queue counts from the first failure; absent: never. */
  readonly giveUpAfterMs?: number;
  /**
   * The number of attempts in a row that must have failed in this process before work is given up: it may have been due
   * long before the start. When this is set, a work queue counts `giveUpAfterMs` from the due time of the work, which a
   * restart does not change.
   */
  readonly giveUpAttempts?: number;
};

/**
 * The delay before the next attempt: between half of the doubled delay and all of it, so that items which failed
 * together are not tried again together.
 *
 * @param attempts the number of attempts that failed, from 1.
 * @param random a number from 0 up to 1.
 */
export const retryDelayMs = ({ firstMs, maxMs }: WorkRetryPolicy, attempts: number, random: number): number => {
  const doubled = Math.min(firstMs * 2 ** Math.min(attempts - 1, 30), maxMs);
  return Math.ceil(doubled * (1 - random / 2));
};
