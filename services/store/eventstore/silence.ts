/** The progress of a subscription. */
export type SubscriptionProgress = {
  /** Counts everything that is received, not only events. */
  readonly receivedCount: number;
  /** The position of the last event received. */
  readonly position: bigint;
};

/**
 * The interval of checks, in milliseconds. Silence is found by two checks in a row: the first reads the head of the
 * log, and the second sees that the events up to that head have not been received.
 */
const CHECK_INTERVAL_MS = 1_500;

/**
 * Makes a check that is true when a subscription is silent although the log grows: nothing was received since the last
 * check, and the head was already beyond its position then. An idle log is not silence.
 *
 * @param head reads the head of the log; called only when nothing was received since the last check.
 */
export const silenceCheck = (
  received: () => SubscriptionProgress,
  head: () => Promise<bigint>,
): (() => Promise<boolean>) => {
  let before = { receivedCount: -1, head: 0n };
  return async () => {
    const { receivedCount, position } = received();
    const isQuiet = receivedCount === before.receivedCount;
    if (isQuiet && before.head > position) return true;
    before = { receivedCount, head: isQuiet ? await head() : 0n };
    return false;
  };
};

/**
 * Watches for a subscription that the server has stopped serving. Keep-alive does not find it while the connection
 * still answers pings.
 *
 * @param onSilence is called at most once.
 */
export const watchSilence = (
  isSilent: () => Promise<boolean>,
  onSilence: () => void,
): { readonly stop: () => void } => {
  let isChecking = false;
  const checkNow = async (): Promise<void> => {
    isChecking = true;
    try {
      if (!(await isSilent())) return;
      clearInterval(timer);
      onSilence();
    } catch {
      // the head could not be read, so there is nothing to compare with; the next check tries again
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => {
    if (!isChecking) void checkNow();
  }, CHECK_INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
