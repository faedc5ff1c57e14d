/** How far somebody is who hears of what is recorded. */
export type Heard = {
  /** Changes with every sign of life. */
  readonly signs: number;
  /** Of the last event heard of. */
  readonly position: bigint;
};

/** Between two looks: one finds nothing new and asks where the log is, the next that nobody has been told of it. */
const LOOK_EVERY_MS = 5_000;

/**
 * Looks whether somebody hears nothing any more of a log that goes on: nothing came since the last look, and the log was
 * further then. A log in which nothing happens is not silent.
 *
 * @param head where the log is; asked only where nothing was heard since the last look.
 */
export const silenceLook = (heard: () => Heard, head: () => Promise<bigint>): (() => Promise<boolean>) => {
  let before = { signs: -1, head: 0n };
  return async () => {
    const { signs, position } = heard();
    const isQuiet = signs === before.signs;
    if (isQuiet && before.head > position) return true;
    before = { signs, head: isQuiet ? await head() : 0n };
    return false;
  };
};

/**
 * Watches a subscription that the server may have forgotten: where its connection answers pings, no keep-alive ends it.
 *
 * @param onSilence hears of it once.
 */
export const watchSilence = (look: () => Promise<boolean>, onSilence: () => void): { readonly stop: () => void } => {
  let isLooking = false;
  const lookNow = async (): Promise<void> => {
    isLooking = true;
    try {
      if (!(await look())) return;
      clearInterval(timer);
      onSilence();
    } catch {
      // a log that does not say where it is cannot be compared with; the next look asks again
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => {
    if (!isLooking) void lookNow();
  }, LOOK_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
