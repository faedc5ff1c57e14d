import { setMaxListeners } from 'node:events';
import { RpcError } from '../../kernel/rpc.js';

/** How far a server has come with its shutdown. */
export type Shutdown = {
  /** Subscriptions and streams of appends end, because they would never end by themselves. */
  readonly begun: AbortSignal;
  /** The time that calls in flight had to end is over. */
  readonly overdue: AbortSignal;
};

/** A signal that any number of calls listen to at a time. */
export const shutdownSignal = (): AbortController => {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
};

/**
 * Waits for work, but not beyond a signal. Official clients take only a failure as the end of a subscription that was
 * not asked for: after a status of OK they are silent for good.
 *
 * @throws {RpcError} UNAVAILABLE once the signal is given; and what the work throws.
 */
export const unlessSignalled = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  let refuse = (): void => undefined;
  const refused = new Promise<never>((_, reject) => {
    refuse = () => reject(new RpcError('UNAVAILABLE', 'Server Is Shutting Down'));
  });
  signal.addEventListener('abort', refuse, { once: true });
  if (signal.aborted) refuse();
  try {
    return await Promise.race([work, refused]);
  } finally {
    signal.removeEventListener('abort', refuse);
  }
};
