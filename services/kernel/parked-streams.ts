import type { StreamParked } from './fault.js';

/**
 * The streams that this process has found to be parked. The list is kept in memory only: the streams are tried again
 * after the next start.
 */
export interface ParkedStreams {
  /** Remembers a parked stream; does nothing when it is known already. */
  readonly note: (parked: StreamParked) => void;
  /** In the order in which they were found. */
  readonly all: () => readonly StreamParked[];
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
  return {
    note: (parked) => {
      if (known.has(parked.stream) || known.size >= MAX_STREAMS) return;
      known.set(parked.stream, parked);
      onParked(parked);
    },
    all: () => [...known.values()],
  };
};
