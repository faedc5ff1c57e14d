import type { LogFile, Stored } from './log-file.js';

/** Maximum number of events of one read of the log file. */
const PAGE_EVENTS = 500;

/** The part of the log that a node has, which may lag behind the log file. */
export type Replica = {
  /** The position below which the node has all events. */
  readonly end: () => bigint;
  /** Moves `end` on: with `hasAll` to the end of the log, otherwise past the events that are older than the lag. */
  readonly advance: (hasAll: boolean) => void;
  /** Shows events this much later than they were written; with `Infinity`, no new ones. */
  readonly lag: (ms: number) => void;
  /** Calls the listener with events as this node gets them. */
  readonly listen: (listener: (events: readonly Stored[]) => void) => () => void;
};

/** A follower's replica lags by the set time; a leader's has all events. */
export const replicaOf = (log: LogFile): Replica => {
  const listeners = new Set<(events: readonly Stored[]) => void>();
  let end = log.end();
  let lagMs = 0;

  /** The position up to which the node has the log now. */
  const target = (hasAll: boolean): bigint => {
    if (hasAll || lagMs === 0) return log.end();
    return Number.isFinite(lagMs) ? log.endBefore(end, Date.now() - lagMs) : end;
  };

  /** Passes the events up to a position to the listeners. */
  const deliver = (upTo: bigint): void => {
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
      if (upTo > end) deliver(upTo);
    },
    lag: (ms) => void (lagMs = ms),
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
