import { RpcError } from '../kernel/rpc.js';

// https://www.zlib.net/zlib_tech.html, "maximum compression factor"
const MOST_DEFLATED = 1_032;

/** What compressed bytes can come to at most, where more than `maxBytes` are refused. */
export const inflatedBytes = (bytes: number, maxBytes: number): number => Math.min(bytes * MOST_DEFLATED, maxBytes);

/** The longest that a request may take to arrive, in milliseconds. */
const RECEIVING_MS = 300_000;

/** Looks at the clock while a request arrives. */
export interface Arriving {
  /** More of it has come. */
  readonly came: () => void;
  /** All of it has come, or nobody waits for it. */
  readonly end: () => void;
}

/** Gives up on a request of which nothing more comes for `patienceMs`, or whose end does not. */
export const watchArriving = (patienceMs: number, giveUp: (why: RpcError) => void): Arriving => {
  const end = (): void => {
    clearTimeout(silence);
    clearTimeout(whole);
  };
  const late = (): void => {
    end();
    giveUp(new RpcError('DEADLINE_EXCEEDED', 'the rest of the request has not come in time'));
  };
  const silence = setTimeout(late, patienceMs);
  const whole = setTimeout(late, RECEIVING_MS);
  return { came: () => void silence.refresh(), end };
};
