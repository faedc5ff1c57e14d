import type { RecordedEvent } from '../event.js';
import { Fault, StoreUnavailable, StreamParked } from '../fault.js';
import type { EventLog } from '../ports/event-store.js';
import type { StreamName } from '../stream.js';

/** Called with each stream that cannot be folded. */
export type OnParked = (parked: StreamParked) => void;

/** A fold of events from a subscription in which one stream that cannot be read does not stop the others. */
export type ParkableFold = {
  /** Folds an event. An event of a parked stream is left until the stream is resumed. */
  readonly fold: (event: RecordedEvent) => void;
  /**
   * Folds the rest of a parked stream. When that cannot be read, the stream stays parked and is reported again.
   *
   * @throws what `evolve` throws besides faults; the stream stays parked.
   */
  readonly resume: (stream: StreamName, log: Pick<EventLog, 'readStream'>) => Promise<void>;
  /** Returns why a stream is parked; `undefined` when it is not. */
  readonly reasonOf: (stream: StreamName) => StreamParked | undefined;
};

/** A parked stream: the revision of the first event that is not folded, and of the last that `fold` has left. */
type Parked = { error: StreamParked; next: bigint; left: bigint };

/**
 * Makes a fold with parked streams.
 *
 * @param evolve folds one event, and parks its stream by throwing `StreamParked`; other errors are thrown by `fold`. Of
 * a resumed stream, it gets the event that parked it and all later ones, also those that the subscription's filter
 * leaves out.
 */
export const parkableFold = (evolve: (event: RecordedEvent) => void, onParked: OnParked): ParkableFold => {
  const parked = new Map<StreamName, Parked>();
  /** The last revision that `resume` has folded, of each resumed stream. The subscription may bring it afterwards. */
  const resumed = new Map<StreamName, bigint>();

  /**
   * Folds the rest of a stream, with the events that `fold` leaves meanwhile. The stream stops being parked in the turn
   * of the event loop in which nothing is left: in a later turn, `fold` could leave another event, which no fold gets.
   */
  const foldLeft = async (stream: StreamName, state: Parked, log: Pick<EventLog, 'readStream'>): Promise<void> => {
    while (state.next <= state.left) {
      const from = state.next;
      for await (const page of log.readStream(stream, { from })) {
        // Two requests for one stream may read it at the same time.
        if (parked.get(stream) !== state) return;
        for (const event of page.filter(({ revision }) => revision >= state.next)) {
          evolve(event);
          state.next = event.revision + 1n;
        }
      }
      if (state.next === from) throw new StoreUnavailable(`${stream} is read from a node that lags behind`);
    }
    if (parked.get(stream) !== state) return; // another request has resumed it
    parked.delete(stream);
    resumed.set(stream, state.next - 1n);
  };

  return {
    reasonOf: (stream) => parked.get(stream)?.error,
    fold: (event) => {
      const { stream, revision } = event;
      const state = parked.get(stream);
      if (state && revision > state.left) state.left = revision;
      if (state || revision <= (resumed.get(stream) ?? -1n)) return;
      try {
        evolve(event);
      } catch (error) {
        if (!(error instanceof StreamParked)) throw error;
        parked.set(stream, { error, next: revision, left: revision });
        onParked(error);
      }
    },
    resume: async (stream, log) => {
      const state = parked.get(stream);
      if (state === undefined) return;
      try {
        await foldLeft(stream, state, log);
      } catch (error) {
        if (parked.get(stream) === state) {
          if (error instanceof StreamParked) state.error = error;
          onParked(state.error);
        }
        if (!(error instanceof Fault)) throw error;
      }
    },
  };
};
