import type { StreamParked } from './fault.js';

/** The streams that this process has found to be parked, until it ends: they are tried again at the next start. */
export interface ParkedStreams {
  /** Takes note of a parked stream; nothing when it is known. */
  readonly note: (parked: StreamParked) => void;
  /** In the order that they were found. */
  readonly all: () => readonly StreamParked[];
}

/** More are not remembered. */
const MAX_STREAMS = 10_000;

/**
 * Remembers parked streams.
 *
 * @param onParked called once for each.
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
