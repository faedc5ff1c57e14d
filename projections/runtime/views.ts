import type { StreamName } from '../../services/kernel/stream.js';
import { lowestOf, viewPartitionOf } from './partitions.js';

/**
 * The views that a read depends on: one view, by the name of its collection, or else all that are in service; in the
 * partition of one stream, or else in all partitions.
 */
export type ViewScope = { readonly collection?: string; readonly stream?: StreamName };

/** Progress of the views along the log. */
export interface Views {
  /** The position up to which the views in service, or the given part of the views, have projected the log. */
  position(scope?: ViewScope): bigint;
  /**
   * Waits until the views in service, or the given part of the views, have reached a position, for at most `timeoutMs`.
   *
   * @returns true when they have reached it.
   */
  reached(position: bigint, timeoutMs: number, scope?: ViewScope): Promise<boolean>;
  /** The collections of the views that are being built, and are behind those in service. */
  building(): readonly string[];
}

/** Calls `run` after `afterMs` milliseconds; the function that it returns cancels the call. */
export type Timer = (afterMs: number, run: () => void) => () => void;

/** One position for all partitions, or one for each. */
export type Positions = bigint | readonly bigint[];

/** Views whose positions are set by the caller. Positions go back when views are rebuilt from the beginning. */
export type SettableViews = Views & {
  /**
   * Sets the positions of the views in service, and of those that are being built, by the names of their collections.
   */
  setPositions(inService: Positions, building?: ReadonlyMap<string, Positions>): void;
};

/** Limit of waiting reads, since each holds its request in memory. A further read is answered at once. */
const MAX_WAITING = 1_000;

type Waiting = { readonly isOver: () => boolean; readonly settle: (hasReached: boolean) => void };

/** Creates views whose positions are set by the caller, all at 0 in the beginning. */
export const settableViews = (timer: Timer): SettableViews => {
  const waiting = new Set<Waiting>();
  let current: Positions = 0n;
  let built: ReadonlyMap<string, Positions> = new Map();
  const position = ({ collection, stream }: ViewScope = {}): bigint => {
    const positions = (collection === undefined ? undefined : built.get(collection)) ?? current;
    if (typeof positions === 'bigint') return positions;
    return (stream === undefined ? undefined : positions[viewPartitionOf(stream)]) ?? lowestOf(positions);
  };
  const wait = (isOver: () => boolean, timeoutMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const cancel = timer(timeoutMs, () => each.settle(false));
      const settle = (hasReached: boolean): void => {
        waiting.delete(each);
        cancel();
        resolve(hasReached);
      };
      const each: Waiting = { isOver, settle };
      waiting.add(each);
    });
  return {
    position,
    building: () => [...built.keys()],
    reached: (wanted, timeoutMs, scope) => {
      const isOver = (): boolean => wanted <= position(scope);
      if (isOver() || waiting.size >= MAX_WAITING) return Promise.resolve(isOver());
      return wait(isOver, timeoutMs);
    },
    setPositions: (inService, building = new Map()) => {
      current = inService;
      built = building;
      for (const each of waiting) if (each.isOver()) each.settle(true);
    },
  };
};
