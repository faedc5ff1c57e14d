import type { StreamName } from '../../services/kernel/stream.js';
import { lowestOf, partitionOf, PARTITIONS } from './partitions.js';

/** How far the views are behind what was recorded. */
export interface Views {
  /** The position up to which every view has seen the log, or everything that a stream feeds has. */
  position(stream?: StreamName): bigint;
  /** Waits until all views, or what a stream feeds, have seen a position, at most so long; answers whether they have. */
  reached(position: bigint, timeoutMs: number, stream?: StreamName): Promise<boolean>;
}

/** Runs something after a while; what it answers calls it off. */
export type Timer = (afterMs: number, run: () => void) => () => void;

/** Views that are told how far they are: all alike, or each partition. Views that start over go back. */
export type ToldViews = Views & { setPositions(positions: bigint | readonly bigint[]): void };

/** A read that waits holds its request: one more is answered at once that the views are not there. */
const MAX_WAITING = 1_000;

type Waiting = { readonly isOver: () => boolean; readonly settle: (hasReached: boolean) => void };

/** Views that are told how far they are. */
export const progressViews = (timer: Timer): ToldViews => {
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
