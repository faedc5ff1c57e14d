/** Longer delays overflow the timers of the platform, which then fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The clock of the machine. A timer that waits keeps no process alive. */
export const systemTimers = {
  now: (): number => Date.now(),
  after: (delayMs: number, run: () => void): (() => void) => {
    let cancel = (): void => undefined;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, MAX_DELAY_MS);
      const timer = setTimeout(() => (leftMs > partMs ? arm(leftMs - partMs) : run()), partMs);
      timer.unref();
      cancel = () => clearTimeout(timer);
    };
    arm(Math.max(0, delayMs));
    return () => cancel();
  },
};
