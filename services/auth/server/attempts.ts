import { lru } from '../../kernel/lru.js';

/** Limits how often something may fail, for each name, in a minute. */
export interface Attempts {
  /**
   * Takes an attempt. Attempts are taken before their outcome is known, so that many at a time count as well.
   *
   * @returns the seconds to wait before the next attempt; 0 when this one may go on.
   */
  take(name: string): number;
  /** Gives an attempt back, because it has not failed. */
  giveBack(name: string): void;
}

const MINUTE_MS = 60_000;
const MAX_NAMES = 100_000;

/** The attempts that a name has taken and not regained, as of a time in milliseconds. */
type Taken = { readonly count: number; readonly at: number };

/**
 * Allows `perMinute` attempts for each name at once, and that many again in the course of every minute. The names used
 * last are remembered, up to 100,000 of them.
 *
 * @param now in milliseconds; by default a clock that is never set back, because that would hold every name back.
 */
export const attemptLimit = (perMinute: number, now: () => number = () => performance.now()): Attempts => {
  const known = lru<string, Taken>(MAX_NAMES);
  const regainMs = MINUTE_MS / perMinute;
  const takenOf = (name: string): number => {
    const { count, at } = known.get(name) ?? { count: 0, at: now() };
    return Math.max(0, count - (now() - at) / regainMs);
  };
  return {
    take: (name) => {
      const count = takenOf(name);
      if (count + 1 > perMinute) return Math.ceil(((count + 1 - perMinute) * regainMs) / 1_000);
      known.set(name, { count: count + 1, at: now() });
      return 0;
    },
    giveBack: (name) => known.set(name, { count: Math.max(0, takenOf(name) - 1), at: now() }),
  };
};
