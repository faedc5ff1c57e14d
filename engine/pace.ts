import { setTimeout as delay } from 'node:timers/promises';
import { EngineStopped } from './call-error.js';

/**
 * Waits some milliseconds.
 *
 * @throws {EngineStopped} when the signal is aborted before.
 */
export const pause = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch (cause) {
    throw new EngineStopped('stopped', { cause });
  }
};

/** Runs at most `size` operations at once, in the order of arrival. */
export type CallSlots = <Result>(work: () => Promise<Result>) => Promise<Result>;

export const createCallSlots = (size: number): CallSlots => {
  const queue: (() => void)[] = [];
  let free = size;
  const leave = (): void => {
    const next = queue.shift();
    if (next) next();
    else free++;
  };
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      leave();
    }
  };
};

/** Spaces calls evenly, at most `perSecond` per second; 0 is no limit. */
export const createPacer = (perSecond: number, signal: AbortSignal): (() => Promise<void>) => {
  const spacing = perSecond > 0 ? 1000 / perSecond : 0;
  let next = 0;
  return async () => {
    if (spacing === 0) return;
    const now = performance.now();
    next = Math.max(next, now) + spacing;
    const wait = next - spacing - now;
    if (wait > 1) await pause(wait, signal);
  };
};

/** A pause that `ring` ends early; a ring before the pause makes it end at once. */
export interface WakeSignal {
  ring(): void;
  wait(milliseconds: number): Promise<void>;
}

export const createWakeSignal = (signal: AbortSignal): WakeSignal => {
  let hasRung = false;
  let wakeUp = (): void => undefined;
  const ring = (): void => {
    hasRung = true;
    wakeUp();
  };
  signal.addEventListener('abort', ring, { once: true });
  return {
    ring,
    wait: async (milliseconds) => {
      const rung = new Promise<void>((resolve) => (wakeUp = resolve));
      const timer = setTimeout(wakeUp, milliseconds);
      if (!hasRung && !signal.aborted) await rung;
      clearTimeout(timer);
      hasRung = false;
    },
  };
};
