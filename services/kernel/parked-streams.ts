import type { StreamParked } from './fault.js';
import type { StreamName } from './stream.js';

/**
 * The streams that this process has found to be parked. The list is kept in memory only: the streams are tried again
 * after the next start, and when an operator asks for it.
 */
export interface ParkedStreams {
  /** Remembers a parked stream; does nothing when it is known already. */
  readonly note: (parked: StreamParked) => void;
  /** In the order in which they were found. */
  readonly all: () => readonly StreamParked[];
  /** Forgets a stream, all of whose events could be read again, and tells all listeners. */
  readonly resume: (stream: StreamName) => void;
  /**
   * Calls `listener` with each stream that is resumed.
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
 * @param onParked called once for each stream.
 */
export const parkedStreams = (onParked: (parked: StreamParked) => void): ParkedStreams => {
  const known = new Map<string, StreamParked>();
  const listeners = new Set<(stream: StreamName) => void>();
  return {
    note: (parked) => {
      if (known.has(parked.stream) || known.size >= MAX_STREAMS) return;
      known.set(parked.stream, parked);
      onParked(parked);
    },
    all: () => [...known.values()],
    resume: (stream) => {
      if (known.delete(stream)) for (const listener of listeners) listener(stream);
    },
    onResumed: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
