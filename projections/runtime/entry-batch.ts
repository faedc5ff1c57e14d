import type { Entry, TouchedDocuments } from './event-reader.js';
import { isFedBySeveral } from './read-model.js';

/** Limits of a batch of events that are folded together. One transaction may write several batches. */
export type EntryBatchLimits = {
  readonly events: number;
  /** Documents that the events touch; a document counts once for each of its events. */
  readonly documents: number;
  /** Bytes of events in memory, with their large contents. */
  readonly bytes: number;
};

/**
 * Large enough that hot documents are written once for many events. Only behind the head do batches become so large.
 */
export const ENTRY_BATCH_LIMITS: EntryBatchLimits = { events: 4_000, documents: 4_000, bytes: 16 * 1024 * 1024 };

/** A batch of entries that are folded together. */
export type EntryBatch = {
  readonly entries: readonly Entry[];
  /** True when the entry fits within the limits. An empty batch accepts an entry of any size. */
  accepts(entry: Entry): boolean;
  add(entry: Entry): void;
};

/** Creates an empty batch. */
export const emptyEntryBatch = (limits: EntryBatchLimits): EntryBatch => {
  const entries: Entry[] = [];
  let width = 0;
  let bytes = 0;
  return {
    entries,
    accepts: (entry) =>
      entries.length === 0 ||
      (entries.length < limits.events &&
        width + entry.width <= limits.documents &&
        bytes + entry.bytes <= limits.bytes),
    add: (entry) => {
      entries.push(entry);
      width += entry.width;
      bytes += entry.bytes;
    },
  };
};

const slices = ({ model, keys }: TouchedDocuments, size: number): readonly TouchedDocuments[] =>
  Array.from({ length: Math.ceil(keys.length / size) }, (_, i) => ({
    model,
    keys: keys.slice(i * size, (i + 1) * size),
  }));

/**
 * Splits an entry that touches very many documents into entries of the same event. Each touches at most `size`
 * documents, but the last one also has all documents that several streams feed: only the checkpoint keeps an event from
 * being folded into these twice, or, while a parked stream is resumed, the position from which it is parked. Both move
 * with the last entry.
 */
export const narrowed = (entry: Entry, size: number): readonly Entry[] => {
  if (entry.width <= size) return [entry];
  const unshared = entry.touched.filter(({ model }) => !isFedBySeveral(model));
  const shared = entry.touched.filter(({ model }) => isFedBySeveral(model));
  const pieces = unshared.flatMap((each) => slices(each, size)).map((each) => [each]);
  const last = pieces.pop() ?? [];
  return [...pieces, [...last, ...shared]].map((touched) => ({ ...entry, touched }));
};
