import { readingEvent } from '../kernel/decode-event.js';
import { metadataOf, type RecordedEvent } from '../kernel/event.js';
import { StreamParked } from '../kernel/fault.js';
import { noteKey } from '../kernel/idempotency.js';
import type { FoldedState, Live } from './live.js';

/** Decodes the next event of the stream and its metadata. A failure parks the stream. */
const readIn = <S, C, E, R>(live: Live<S, C, E, R>, recorded: RecordedEvent) => {
  try {
    return readingEvent(recorded, () => {
      const about = metadataOf(recorded);
      return { about, event: live.aggregate.codec.decode(recorded.type, recorded.data, about.schema) };
    });
  } catch (error) {
    if (error instanceof StreamParked) {
      live.parked = error;
      live.services.onParked?.(error);
    }
    throw error;
  }
};

/**
 * Folds the next event of the stream.
 *
 * @throws {StreamParked} when the event cannot be decoded; nothing is folded then.
 */
export const foldEvent = <S, C, E, R>(
  live: Live<S, C, E, R>,
  folded: FoldedState<S>,
  recorded: RecordedEvent,
): void => {
  const { about, event } = readIn(live, recorded);
  folded.state = live.aggregate.decider.evolve(folded.state, event);
  folded.revision = recorded.revision;
  if (about.idempotency !== undefined) noteKey((folded.keys ??= new Map()), about);
  live.position = recorded.position;
  live.recordedAtMs = Math.max(live.recordedAtMs, about.recordedAtMs);
};

/**
 * Folds the stream from its beginning.
 *
 * @throws {StreamParked} when the stream is parked or an event cannot be decoded.
 */
export const fold = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<FoldedState<S>> => {
  if (live.parked !== undefined) throw live.parked;
  const { lastTicket } = live;
  const folded: FoldedState<S> = { state: live.aggregate.decider.initial(), revision: -1n };
  for await (const page of live.services.store.readStream(live.stream))
    for (const event of page) foldEvent(live, folded, event);
  live.currentForTicket = lastTicket;
  return folded;
};
