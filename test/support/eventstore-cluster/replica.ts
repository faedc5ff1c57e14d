import type { LogFile, Stored } from './log-file.js';

/** Events of one look at the log file, at most. */
const PAGE_EVENTS = 500;

/** What a node has of the log, which may be less than there is. */
export type Replica = {
  /** The end of it, as a position that no event has yet. */
  readonly end: () => bigint;
  /** Takes what has been written since, as far as it is to be seen. */
  readonly advance: (hasAll: boolean) => void;
  /** Shows events this much later than they were written; `Infinity` stands still. */
  readonly lag: (ms: number) => void;
  /** Hears of events as this node gets them. */
  readonly listen: (listener: (events: readonly Stored[]) => void) => () => void;
};

/** What a follower has lags by a chosen time; what a leader has is all there is. */
export const replicaOf = (log: LogFile): Replica => {
  const listeners = new Set<(events: readonly Stored[]) => void>();
  let end = log.end();
  let lagMs = 0;

  const target = (hasAll: boolean): bigint => {
    if (hasAll || lagMs === 0) return log.end();
    return Number.isFinite(lagMs) ? log.endBefore(end, Date.now() - lagMs) : end;
  };

  const handOn = (upTo: bigint): void => {
    while (end < upTo) {
      const events = log.readForwards({ from: end, below: upTo, limit: PAGE_EVENTS });
      end = events.length < PAGE_EVENTS ? upTo : (events.at(-1)?.position ?? upTo) + 1n;
      for (const listener of listeners) listener(events);
    }
  };

  return {
    end: () => end,
    advance: (hasAll) => {
      const upTo = target(hasAll);
      if (upTo > end) handOn(upTo);
    },
    lag: (ms) => void (lagMs = ms),
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
