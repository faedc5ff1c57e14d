import { MAX_TIMER_MS } from '../kernel/ports/timers.js';

/** The clock and the timers of the platform. A pending timer does not keep the process alive. */
export const systemTimers = {
  now: (): number => Date.now(),
  after: (delayMs: number, run: () => void): (() => void) => {
    let cancel = (): void => undefined;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, MAX_TIMER_MS);
      const timer = setTimeout(() => (leftMs > partMs ? arm(leftMs - partMs) : run()), partMs);
      timer.unref();
      cancel = () => clearTimeout(timer);
    };
    arm(Math.max(0, delayMs));
    return () => cancel();
  },
};
