import { useSyncExternalStore } from 'react';

const TICK_MS = 1_000;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: number | undefined;

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
};

/** Returns the time in milliseconds since 1970, and renders the component again each second. All share one timer. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

const MINUTE_MS = 60_000;

/** Returns the beginning of the minute, and renders the component again when the next one begins. */
export const useMinute = (): number => useSyncExternalStore(subscribe, () => now - (now % MINUTE_MS));
