import { setTimeout as pause } from 'node:timers/promises';

import { RpcError } from '../kernel/rpc.js';

/** What those who wait for a position of the log are told by. */
export type PositionWaitsOptions = {
  readonly hasReached: (position: bigint) => boolean;
  /** Looks at the head of the log, and advances to it where it can; absent where every position comes by itself. */
  readonly lookAhead?: () => Promise<void>;
};

/** Calls that wait for a position of the log. */
export interface PositionWaits {
  /**
   * Waits until a position is reached; answers whether it is in time, and `false` when the waits are closed.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED, with a delay after which to try again, when too many calls wait.
   * @throws {Fault} when the log cannot be read.
   */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
  /** Has those who wait look whether they still have to. */
  advanced(): void;
  close(): void;
}

/** While calls wait, the head of the log is looked at so often: once for all of them. */
const LOOK_MS = 5;

/** A call that waits holds its request: so many may. */
const MAX_WAITING = 1_000;

const RETRY_AFTER_MS = 1_000;

type Wait = {
  readonly position: bigint;
  readonly resolve: (isReached: boolean) => void;
  readonly reject: (why: unknown) => void;
};

/** Opens the waits. One look at the head of the log serves all calls that wait, however many they are. */
export const positionWaits = ({ hasReached, lookAhead }: PositionWaitsOptions): PositionWaits => {
  const waiting = new Set<Wait>();
  let isLooking = false;
  let isClosed = false;

  const advanced = (): void => {
    for (const wait of waiting) if (hasReached(wait.position)) wait.resolve(true);
  };

  const look = async (ahead: () => Promise<void>): Promise<void> => {
    try {
      await ahead();
      advanced();
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  };

  const keepLooking = async (): Promise<void> => {
    if (isLooking || lookAhead === undefined) return;
    isLooking = true;
    while (waiting.size > 0) {
      await look(lookAhead);
      if (waiting.size > 0) await pause(LOOK_MS);
    }
    isLooking = false;
  };

  const wait = async (position: bigint, timeoutMs: number): Promise<boolean> => {
    let over = (): void => undefined;
    try {
      return await new Promise<boolean>((resolve, reject) => {
        const each: Wait = { position, resolve, reject };
        const timeout = setTimeout(() => resolve(false), timeoutMs);
        waiting.add(each);
        over = () => {
          clearTimeout(timeout);
          waiting.delete(each);
        };
        void keepLooking();
      });
    } finally {
      over();
    }
  };

  return {
    advanced,
    reached: async (position, timeoutMs) => {
      if (hasReached(position)) return true;
      if (isClosed) return false;
      if (waiting.size < MAX_WAITING) return wait(position, timeoutMs);
      const text = `${MAX_WAITING} calls wait for positions of the log that this process has not reached: try again in ${RETRY_AFTER_MS / 1_000} s`;
      throw new RpcError('RESOURCE_EXHAUSTED', text, [], RETRY_AFTER_MS);
    },
    close: () => {
      isClosed = true;
      for (const { resolve } of waiting) resolve(false);
    },
  };
};
