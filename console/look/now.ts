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

/** The time of the last tick. While nothing listens there are no ticks: a time older than a second is replaced. */
const current = (): number => {
  if (timer === undefined && Date.now() - now >= TICK_MS) now = Date.now();
  return now;
};

/** Returns the time in milliseconds since 1970, and renders the component again each second. All share one timer. */
export const useNow = (): number => useSyncExternalStore(subscribe, current);

const MINUTE_MS = 60_000;

const currentMinute = (): number => Math.floor(current() / MINUTE_MS) * MINUTE_MS;

/** Returns the beginning of the minute, and renders the component again when the next one begins. */
export const useMinute = (): number => useSyncExternalStore(subscribe, currentMinute);
