import type { Check } from '../gateway/readiness.js';
import { OutcomeUnknown, StoreUnavailable } from '../kernel/fault.js';
import type { NewEvent } from '../kernel/event.js';
import type { Appended, EventStore, ExpectedRevision } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';

/** A store whose appends are watched. */
export type WatchedAppends<Store> = {
  readonly store: Store;
  /** Degraded from an append that has failed because of the store to the next that succeeds; otherwise `undefined`. */
  readonly check: () => Check | undefined;
};

/** Wraps a store so that a check tells when it takes no events, for example because its disk is full. */
export const watchAppends = <Store extends EventStore>(store: Store): WatchedAppends<Store> => {
  let problem: string | undefined;
  const noteFailure = (error: unknown): void => {
    // Any other failure, such as a conflict, says nothing: a full disk can still be read.
    if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown) problem = error.message;
  };
  const append = (stream: StreamName, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> => {
    const appended = store.append(stream, expected, events);
    appended.then(() => (problem = undefined), noteFailure);
    return appended;
  };
  return {
    store: { ...store, append },
    check: () => (problem === undefined ? undefined : { name: 'appends', state: 'degraded', why: problem }),
  };
};
