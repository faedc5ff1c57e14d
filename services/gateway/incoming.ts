import { RpcError } from '../kernel/rpc.js';

// https://www.zlib.net/zlib_tech.html, "maximum compression factor"
const MAX_DEFLATE_RATIO = 1_032;

/** The largest size that compressed bytes can inflate to, capped at `maxBytes`, above which they are refused. */
export const inflatedBytes = (bytes: number, maxBytes: number): number => Math.min(bytes * MAX_DEFLATE_RATIO, maxBytes);

/** The longest time from the start of a {@link RequestTimer} until its request is complete, in milliseconds. */
const RECEIVING_MS = 300_000;

/** Times the arrival of one request, or of one message where a call has many. */
export interface RequestTimer {
  /** Restarts the idle timer; call it when more bytes have arrived. */
  readonly onBytes: () => void;
  /** Stops both timers; call it when the request is complete or abandoned. */
  readonly end: () => void;
}

/**
 * Calls `giveUp` once when no bytes have arrived for `stallTimeoutMs`, or the request is not complete after 5 minutes.
 */
export const timeRequest = (stallTimeoutMs: number, giveUp: (error: RpcError) => void): RequestTimer => {
  const end = (): void => {
    clearTimeout(silence);
    clearTimeout(whole);
  };
  const onTimeout = (): void => {
    end();
    giveUp(new RpcError('DEADLINE_EXCEEDED', 'the rest of the request did not arrive in time'));
  };
  const silence = setTimeout(onTimeout, stallTimeoutMs);
  const whole = setTimeout(onTimeout, RECEIVING_MS);
  return { onBytes: () => void silence.refresh(), end };
};
