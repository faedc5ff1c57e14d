import type { StreamParked } from '../fault.js';
import type { StreamName } from '../stream.js';

/**
 * The streams that this process has found to be parked. The list is kept in memory only: the streams are tried again
 * after the next start, and when an operator asks for it.
 */
export interface ParkedStreams {
  /** Remembers a parked stream; does nothing when it is known already. */
  readonly note: (parked: StreamParked) => void;
  /** In the order in which they were found. */
  readonly all: () => readonly StreamParked[];
  /**
   * Forgets a stream whose events can all be read again: calls the folds of `onResuming` with it, and then all
   * listeners of `onResumed`, also when a fold has failed.
   *
   * @throws what the first fold that has failed throws.
   */
  readonly resume: (stream: StreamName) => Promise<void>;
  /**
   * Adds a fold that continues with each resumed stream. If it cannot read the stream, it parks it again by `note`.
   *
   * @returns a function that removes the fold.
   */
  readonly onResuming: (fold: (stream: StreamName) => Promise<void> | void) => () => void;
  /**
   * Calls `listener` with each stream that is resumed, after the folds.
   *
   * @returns a function that ends the calls.
   */
  readonly onResumed: (listener: (stream: StreamName) => void) => () => void;
}

/** Further parked streams are neither remembered nor reported. */
const MAX_STREAMS = 10_000;

/**
 * Opens an empty list of parked streams.
 *
 * @param onParked called when a stream is added to the list.
 */
export const parkedStreams = (onParked: (parked: StreamParked) => void): ParkedStreams => {
  const known = new Map<string, StreamParked>();
  const folds = new Set<(stream: StreamName) => Promise<void> | void>();
  const listeners = new Set<(stream: StreamName) => void>();
  return {
    note: (parked) => {
      if (known.has(parked.stream) || known.size >= MAX_STREAMS) return;
      known.set(parked.stream, parked);
      onParked(parked);
    },
    all: () => [...known.values()],
    resume: async (stream) => {
      if (!known.delete(stream)) return;
      const folded = await Promise.allSettled([...folds].map(async (fold) => fold(stream)));
      for (const listener of listeners) listener(stream);
      for (const each of folded) if (each.status === 'rejected') throw each.reason;
    },
    onResuming: (fold) => {
      folds.add(fold);
      return () => void folds.delete(fold);
    },
    onResumed: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
