import { BEYOND } from '../../projections/runtime/partitions.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { endsBefore } from '../kernel/log-end.js';

/** How far behind the log this process is. */
export type HeadLag = {
  /** In milliseconds: for so long something has been in the log, or may have been, that is not known here. */
  readonly ms: () => number;
  /** Why the head could not be looked at the last time; nothing when it could. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
};

/** Between two looks at the head of the log. */
const LOOK_EVERY_MS = 250;

/**
 * Measures in time, since positions count nothing: looks at the head again and again, and remembers when the one was
 * looked at that has been reached. A head below what was reached before the look is that of a node that lags behind, and
 * says nothing of what there is: the process is as far behind then as it was.
 *
 * @param position what has been reached of the log; `BEYOND` where nothing has to be.
 */
export const headLag = (log: Pick<EventLog, 'head'>, position: () => bigint): HeadLag => {
  let currentAt = performance.now();
  let wanted: { readonly head: bigint; readonly at: number } | undefined;
  let isLooking = false;
  let trouble: string | undefined;

  const note = (): void => {
    if (wanted === undefined || position() < wanted.head) return;
    currentAt = wanted.at;
    wanted = undefined;
  };
  const look = async (): Promise<void> => {
    const at = performance.now();
    const reached = position();
    isLooking = true;
    try {
      const head = await log.head();
      const isAhead = reached > head && reached !== BEYOND;
      trouble = isAhead ? endsBefore(head, reached) : undefined;
      if (!isAhead) wanted = { head, at };
    } catch (error) {
      // a log that cannot be reached is one that this process falls behind
      trouble = error instanceof Error ? error.message : String(error);
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => {
    note();
    if (wanted === undefined && !isLooking) void look().then(note);
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    ms: () => {
      note();
      return performance.now() - currentAt;
    },
    trouble: () => trouble,
    close: () => clearInterval(timer),
  };
};
