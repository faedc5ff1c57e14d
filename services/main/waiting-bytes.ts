import type { RpcError } from '../kernel/rpc.js';

/**
 * Bounds the bytes of what waits for a thread. One that is larger than all that may wait is taken when nothing else
 * does.
 */
export const waitingBytes = (
  maxBytes: number,
  tooMany: () => RpcError,
): (<Result>(bytes: number, work: () => Promise<Result>) => Promise<Result>) => {
  let waiting = 0;
  return async (bytes, work) => {
    if (waiting > 0 && waiting + bytes > maxBytes) throw tooMany();
    waiting += bytes;
    return work().finally(() => (waiting -= bytes));
  };
};
