import { MAX_POSITION } from '../../projections/runtime/partitions.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { logEndText } from '../kernel/log-readers/log-end.js';
import { errorText } from '../kernel/error-text.js';

/** The lag of this process behind the log, in time. */
export type HeadLag = {
  /** Milliseconds for which the log has had, or may have had, events that this process has not reached. */
  readonly ms: () => number;
  /**
   * The reason why the last read of the head cannot be used: it failed, or it gave a head below the position that this
   * process has reached. `undefined` after any other read.
   */
  readonly problem: () => string | undefined;
  /** True when the log, as last read, ends before the position that this process has reached. */
  readonly endsEarly: () => boolean;
  readonly close: () => void;
};

/** The interval between two reads of the head. */
const READ_EVERY_MS = 250;

/**
 * Measures the lag in time, because a difference of positions is not a number of events. It reads the head again and
 * again: the lag is the time since the read of the newest head that this process has reached. A head below the position
 * that was reached before the read comes from a node that lags itself, or from a log that has lost its end: it is
 * ignored, and the lag grows.
 *
 * @param position the position that this process has reached; `MAX_POSITION` where only the reads of the head count.
 */
export const headLag = (log: Pick<EventLog, 'head'>, position: () => bigint): HeadLag => {
  let currentAt = performance.now();
  let pending: { readonly head: bigint; readonly at: number } | undefined;
  let isReading = false;
  let isAhead = false;
  let problem: string | undefined;

  const note = (): void => {
    if (pending === undefined || position() < pending.head) return;
    currentAt = pending.at;
    pending = undefined;
  };
  const readHead = async (): Promise<void> => {
    const at = performance.now();
    const reached = position();
    isReading = true;
    try {
      const head = await log.head();
      isAhead = reached > head && reached !== MAX_POSITION;
      problem = isAhead ? logEndText(head, reached) : undefined;
      if (!isAhead) pending = { head, at };
    } catch (error) {
      // While the head cannot be read, the lag grows.
      problem = errorText(error);
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => {
    note();
    if (pending === undefined && !isReading) void readHead().then(note);
  }, READ_EVERY_MS);
  timer.unref();
  return {
    ms: () => {
      note();
      return performance.now() - currentAt;
    },
    problem: () => problem,
    endsEarly: () => isAhead,
    close: () => clearInterval(timer),
  };
};
