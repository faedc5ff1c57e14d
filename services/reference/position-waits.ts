import { setTimeout as pause } from 'node:timers/promises';
import { logEndText } from '../kernel/log-readers/log-end.js';
import { RpcError } from '../kernel/rpc.js';

/** The functions through which the waits learn the reached position. */
export type PositionWaitsOptions = {
  readonly hasReached: (position: bigint) => boolean;
  /**
   * Reads on towards the head of the log and advances over events that are not needed; absent where the subscription
   * brings every position.
   */
  readonly readAhead?: () => Promise<void>;
  /** The number of calls that may wait at most; by default 1,000. */
  readonly maxWaiting?: number;
};

/** Calls that wait for a position of the log. */
export interface PositionWaits {
  /**
   * Waits until a position is reached.
   *
   * @returns `false` when it is not reached within `timeoutMs`, or the waits are closed.
   * @throws {RpcError} RESOURCE_EXHAUSTED with a retry delay, when too many calls wait.
   * @throws {Fault} when the log cannot be read.
   */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
  /** Resolves the waits whose position has been reached. */
  advanced(): void;
  close(): void;
}

/** The pause between two reads of the log while calls wait, in milliseconds; one read serves all of them. */
const POLL_MS = 5;

/** By default the most calls that may wait: each of them keeps its request in memory. */
const MAX_WAITING = 1_000;

const RETRY_AFTER_MS = 1_000;

type Wait = {
  readonly position: bigint;
  readonly resolve: (isReached: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/** Makes the waits. One read of the log serves all waiting calls. */
export const positionWaits = ({
  hasReached,
  readAhead,
  maxWaiting = MAX_WAITING,
}: PositionWaitsOptions): PositionWaits => {
  const waiting = new Set<Wait>();
  let isReading = false;
  let isClosed = false;

  const advanced = (): void => {
    for (const wait of waiting) if (hasReached(wait.position)) wait.resolve(true);
  };

  const readOnce = async (ahead: () => Promise<void>): Promise<void> => {
    try {
      await ahead();
      advanced();
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  };

  const readWhileWaiting = async (): Promise<void> => {
    if (isReading || readAhead === undefined) return;
    isReading = true;
    while (waiting.size > 0) {
      await readOnce(readAhead);
      if (waiting.size > 0) await pause(POLL_MS);
    }
    isReading = false;
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
        void readWhileWaiting();
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
      if (waiting.size < maxWaiting) return wait(position, timeoutMs);
      const text = `${maxWaiting} calls wait for positions of the log that this process has not reached: try again in ${RETRY_AFTER_MS / 1_000} s`;
      throw new RpcError('RESOURCE_EXHAUSTED', text, [], RETRY_AFTER_MS);
    },
    close: () => {
      isClosed = true;
      for (const { resolve } of waiting) resolve(false);
    },
  };
};

/** A node of an event store may lag behind the one that gave a client its position; in milliseconds. */
const MAX_LAG_MS = 1_000;

/** The waits of clients that continue after a position, the position that is reached, and the longest wait. */
export type Continuing = {
  readonly waits: Pick<PositionWaits, 'reached'>;
  readonly position: () => bigint;
  readonly maxLagMs?: number;
};

/**
 * Waits for the position after which a client continues.
 *
 * @throws {RpcError} UNAVAILABLE when the position is not reached within `maxLagMs`, by default a second, or the waits
 * are closed; RESOURCE_EXHAUSTED when too many clients wait.
 * @throws {Fault} when the log cannot be read.
 */
export const reachPosition = async (
  { waits, position, maxLagMs = MAX_LAG_MS }: Continuing,
  requested: bigint,
): Promise<void> => {
  if (!(await waits.reached(requested, maxLagMs))) throw new RpcError('UNAVAILABLE', logEndText(position(), requested));
};
