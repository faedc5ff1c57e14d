import type { RecordedEvent } from '../../../../kernel/event.js';
import { hexText } from '../../../../kernel/encoding/id-text.js';

/** The positions of the events that a consumer was sent, by their ids. */
export type SentIds = Map<string, bigint>;

/** Above this number, twice the maximum buffer of a consumer, ids of events that are not in flight are forgotten. */
const MAX_REMEMBERED = 20_000;

/**
 * Remembers the id of a sent event. Above {@link MAX_REMEMBERED}, it forgets those of events that timed out; the caller
 * removes those that were acknowledged or refused.
 */
export const rememberSent = (
  sent: SentIds,
  event: RecordedEvent,
  at: bigint,
  isInFlight: (at: bigint) => boolean,
): void => {
  sent.set(hexText(event.id), at);
  if (sent.size <= MAX_REMEMBERED) return;
  for (const [each, place] of sent) if (!isInFlight(place)) sent.delete(each);
};
