import type { Timers } from '../../services/kernel/ports/timers.js';

/**
 * A clock that only `advance` moves, in milliseconds; it runs the timers that are due then. `armed` counts the timers
 * that wait.
 */
export const manualTimers = (
  start: number,
): Timers & { readonly advance: (ms: number) => void; readonly armed: () => number } => {
  let now = start;
  const waiting = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    after: (delayMs, run) => {
      const entry = { at: now + Math.max(0, delayMs), run };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
    advance: (ms) => {
      now += ms;
      for (const entry of waiting) {
        if (entry.at > now) continue;
        waiting.delete(entry);
        entry.run();
      }
    },
    armed: () => waiting.size,
  };
};
