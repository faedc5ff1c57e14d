/** The shortest pause from a change to the refresh, in milliseconds; also the pause before the first refresh. */
const SETTLE_MS = 600;

/**
 * The pause before the next refresh, as a multiple of the time that the last one took. It begins at a change; for a
 * change during a refresh, at the end of that refresh.
 */
const PAUSE_FACTOR = 3;

/**
 * The longest pause, in milliseconds. A refresh that had to wait for an unreachable server would otherwise delay the
 * next one by a multiple of the outage.
 */
const MAX_PAUSE_MS = 30_000;

/** Reads again what a page shows. It resolves when that is done, also when a read has failed; it must not reject. */
export type Refresh = () => Promise<void>;

/** Decides when a page that follows events is refreshed. */
export type Settling = {
  /** To be called when something has changed: plans a refresh. */
  readonly changed: () => void;
  /** Ends the refreshing: none begins after this, and one that runs is not cancelled. */
  readonly stop: () => void;
};

/**
 * Refreshes after a change, once for all changes until then: after 600 ms, or later where refreshes take long, so that
 * many events do not keep the page busy. A refresh never begins before the one before it has ended.
 */
export const settling = (refresh: Refresh): Settling => {
  let state: 'idle' | 'waiting' | 'refreshing' | 'outdated' | 'stopped' = 'idle';
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = SETTLE_MS;
  const run = async (): Promise<void> => {
    state = 'refreshing';
    const started = Date.now();
    await refresh();
    pauseMs = Math.min(Math.max(SETTLE_MS, PAUSE_FACTOR * (Date.now() - started)), MAX_PAUSE_MS);
    afterRefresh();
  };
  const wait = (): void => {
    state = 'waiting';
    timer = setTimeout(() => void run(), pauseMs);
  };
  const afterRefresh = (): void => {
    if (state === 'outdated') wait();
    else if (state === 'refreshing') state = 'idle';
  };
  return {
    changed: () => {
      if (state === 'idle') wait();
      else if (state === 'refreshing') state = 'outdated';
    },
    stop: () => {
      state = 'stopped';
      clearTimeout(timer);
    },
  };
};
