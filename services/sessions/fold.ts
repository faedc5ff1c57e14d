import { metadataOf, type RecordedEvent } from '../kernel/event.js';
import { noteKey } from '../kernel/idempotency.js';
import type { FoldedHere, Live } from './live.js';

/** Counts an event in that follows what is folded. */
export const foldEvent = <S, C, E, R>(
  live: Live<S, C, E, R>,
  folded: FoldedHere<S>,
  { type, data, metadata, revision, position }: RecordedEvent,
): void => {
  const { decider, codec } = live.aggregate;
  const about = metadataOf({ metadata });
  folded.state = decider.evolve(folded.state, codec.decode(type, data, about.schema));
  folded.revision = revision;
  if (about.idempotency !== undefined) noteKey((folded.keys ??= new Map()), about);
  live.position = position;
  live.recordedAtMs = Math.max(live.recordedAtMs, about.recordedAtMs);
};

/** The stream from its beginning. */
export const fold = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<FoldedHere<S>> => {
  const { tickets } = live;
  const folded: FoldedHere<S> = { state: live.aggregate.decider.initial(), revision: -1n };
  for await (const page of live.services.store.readStream(live.stream))
    for (const event of page) foldEvent(live, folded, event);
  live.isCurrentFor = tickets;
  return folded;
};
