import type { StreamName } from '../../services/kernel/stream.js';
import { lowestOf, partitionOf, PARTITIONS } from './partitions.js';

/** Progress of the views along the log. */
export interface Views {
  /** The position up to which all views have projected the log; with a stream, that of the stream's partition. */
  position(stream?: StreamName): bigint;
  /**
   * Waits until all views, or the partition of a stream, have reached a position, for at most `timeoutMs`.
   *
   * @returns true when they have reached it.
   */
  reached(position: bigint, timeoutMs: number, stream?: StreamName): Promise<boolean>;
}

/** Calls `run` after `afterMs` milliseconds; the function that it returns cancels the call. */
export type Timer = (afterMs: number, run: () => void) => () => void;

/**
 * Views whose positions are set by the caller: one for all partitions, or one for each. Positions go back when views
 * are rebuilt from the beginning.
 */
export type SettableViews = Views & { setPositions(positions: bigint | readonly bigint[]): void };

/** Limit of waiting reads, since each holds its request in memory. A further read is answered at once. */
const MAX_WAITING = 1_000;

type Waiting = { readonly isOver: () => boolean; readonly settle: (hasReached: boolean) => void };

/** Creates views whose positions are set by the caller, all at 0 in the beginning. */
export const settableViews = (timer: Timer): SettableViews => {
  const waiting = new Set<Waiting>();
  const current = PARTITIONS.map(() => 0n);
  const position = (stream?: StreamName): bigint =>
    (stream === undefined ? undefined : current[partitionOf(stream)]) ?? lowestOf(current);
  const wait = (isOver: () => boolean, timeoutMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const callOff = timer(timeoutMs, () => each.settle(false));
      const settle = (hasReached: boolean): void => {
        waiting.delete(each);
        callOff();
        resolve(hasReached);
      };
      const each: Waiting = { isOver, settle };
      waiting.add(each);
    });
  return {
    position,
    reached: (wanted, timeoutMs, stream) => {
      const isOver = (): boolean => wanted <= position(stream);
      if (isOver() || waiting.size >= MAX_WAITING) return Promise.resolve(isOver());
      return wait(isOver, timeoutMs);
    },
    setPositions: (positions) => {
      for (const partition of PARTITIONS)
        current[partition] = typeof positions === 'bigint' ? positions : (positions[partition] ?? 0n);
      for (const each of waiting) if (each.isOver()) each.settle(true);
    },
  };
};
