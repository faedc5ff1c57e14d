import { useSyncExternalStore } from 'react';

/**
 * The state of the event stream that a page follows. It is `refused` when the person may not follow what the page
 * shows, `invalid` when the server cannot read the filters, and `lost` when the stream has ended or the server cannot
 * serve it now: it does not answer, fails or is too busy.
 */
type Connection = 'connecting' | 'live' | 'refused' | 'invalid' | 'lost';

let connection: Connection = 'connecting';
const listeners = new Set<() => void>();

export const setConnection = (next: Connection): void => {
  if (connection === next) return;
  connection = next;
  for (const listener of listeners) listener();
};

/** To be called when a stream is no longer followed: forgets its failure, which says nothing about the next page. */
export const forgetFailed = (): void => {
  if (connection !== 'live') setConnection('connecting');
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The state of the event stream of the page; the stream connects again by itself. */
export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => connection);
