import type { RecordedEvent } from '../../../../kernel/event.js';
import { hexText } from '../../../../kernel/encoding/id-text.js';

/** The positions of the events that a consumer was sent, by their ids. */
export interface SentIds {
  /** Remembers an event that is sent. */
  add(event: RecordedEvent, at: bigint): void;
  /**
   * Takes the position of an event that the consumer has answered. Of several with the same id, which may be in one
   * stream or in several, it is the first that is in flight, or else the first that has timed out.
   *
   * @param id the 16 bytes in hexadecimal.
   * @returns `undefined` when no such event was sent, all were answered, or the event has timed out and is forgotten.
   */
  take(id: string): bigint | undefined;
}

/** Above this number, twice the maximum buffer of a consumer, ids of events that are not in flight are forgotten. */
const MAX_REMEMBERED = 20_000;

/** Makes an empty set of sent events. Above {@link MAX_REMEMBERED} ids, it forgets those of events that timed out. */
export const sentIds = (isInFlight: (at: bigint) => boolean): SentIds => {
  const sent = new Map<string, readonly bigint[]>();
  const setPlaces = (id: string, places: readonly bigint[]): void => {
    if (places.length === 0) sent.delete(id);
    else sent.set(id, places);
  };
  return {
    add: (event, at) => {
      const id = hexText(event.id);
      setPlaces(id, [...(sent.get(id) ?? []).filter((place) => place !== at && isInFlight(place)), at]);
      if (sent.size <= MAX_REMEMBERED) return;
      for (const [each, places] of sent) setPlaces(each, places.filter(isInFlight));
    },
    take: (id) => {
      const places = sent.get(id) ?? [];
      const at = places.find(isInFlight) ?? places[0];
      setPlaces(
        id,
        places.filter((place) => place !== at),
      );
      return at;
    },
  };
};
