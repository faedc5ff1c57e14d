/** The longest pause without a failure, in milliseconds; each failure doubles it, up to `LONGEST_MS`. */
const BASE_MS = 200;
const LONGEST_MS = 30_000;

/**
 * The pause before another attempt, in milliseconds: exponential backoff with jitter, so that what failed at the same
 * moment is retried at different moments; `atLeastMs` without jitter when that is longer.
 */
export const backoffMs = (failures: number, atLeastMs = 0): number => {
  const longest = Math.min(LONGEST_MS, BASE_MS * 2 ** Math.min(failures, 10));
  return Math.max(atLeastMs, longest / 2 + (Math.random() * longest) / 2);
};
