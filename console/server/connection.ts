import { useSyncExternalStore } from 'react';

/**
 * The state of the event stream that a page follows. A stream is refused when the person may not follow what the page
 * shows, such as the whole log; it is invalid when the server cannot read what the page asks for; it is lost when the server does not answer, or cannot serve it now.
 */
type Connection = 'connecting' | 'live' | 'refused' | 'invalid' | 'lost';

let connection: Connection = 'connecting';
const listeners = new Set<() => void>();

export const setConnection = (next: Connection): void => {
  if (connection === next) return;
  connection = next;
  for (const listener of listeners) listener();
};

/** Forgets that a stream had failed when it is no longer followed; the page that comes next finds out for itself. */
export const forgetFailed = (): void => {
  if (connection !== 'live') setConnection('connecting');
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The state of the event stream of the page; the stream connects again by itself. */
export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => connection);
