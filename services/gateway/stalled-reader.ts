import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** The longest time, in milliseconds, that a client may take to read what waits for it; `undefined`: no limit. */
export type MaxStall = number | undefined;

/** Calls `hangUp` when the limit has passed. Returns the function that ends the wait: the client has read, or left. */
const hangUpAfter = (maxStallMs: MaxStall, hangUp: () => void): (() => void) => {
  const timer = maxStallMs === undefined ? undefined : setTimeout(hangUp, maxStallMs);
  return () => clearTimeout(timer);
};

/**
 * Waits until a client has read what was written.
 *
 * @throws {Error} when the client has gone, also because it took too long.
 */
export const drained = async (
  stream: Writable,
  disconnected: AbortSignal,
  { maxStallMs, hangUp }: { readonly maxStallMs: MaxStall; readonly hangUp: () => void },
): Promise<void> => {
  const read = hangUpAfter(maxStallMs, hangUp);
  try {
    await once(stream, 'drain', { signal: disconnected });
  } finally {
    read();
  }
};

/** Hangs up when a client does not read the end of an answer: the connection would stay as long as the client does. */
export const closeInTime = (stream: Writable, maxStallMs: MaxStall, hangUp: () => void): void => {
  if (!stream.destroyed) stream.once('close', hangUpAfter(maxStallMs, hangUp));
};
