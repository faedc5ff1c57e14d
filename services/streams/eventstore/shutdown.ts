import { setMaxListeners } from 'node:events';
import { RpcError } from '../../kernel/rpc.js';

/** The stages of a server's shutdown. */
export type Shutdown = {
  /** Shutdown has begun: subscriptions and batch streams end now, because they would never end by themselves. */
  readonly begun: AbortSignal;
  /** The drain time is over: the calls in flight end now. */
  readonly overdue: AbortSignal;
};

/** Makes a controller whose signal may have any number of listeners. */
export const shutdownSignal = (): AbortController => {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
};

/**
 * Waits for work until a signal aborts. The call must then fail: after a status of OK, official clients do not notice
 * that a subscription has ended, and stay silent forever.
 *
 * @throws {RpcError} UNAVAILABLE when the signal aborts first; otherwise the errors of the work.
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

/** Resolves when a signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
