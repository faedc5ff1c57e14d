const FIRST_MS = 200;
const LONGEST_MS = 30_000;

/**
 * The pause before another attempt, in milliseconds: exponential backoff with jitter, so that what failed at once is
 * retried apart.
 */
export const backoffMs = (failures: number, atLeastMs = 0): number => {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.max(atLeastMs, longest / 2 + (Math.random() * longest) / 2);
};
