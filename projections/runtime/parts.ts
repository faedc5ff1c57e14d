import type { Entry, Touched } from './event-reader.js';
import { isShared } from './read-model.js';

/** How much is folded and written together. */
export type PartLimits = {
  readonly events: number;
  /** Documents written in one transaction. */
  readonly documents: number;
  /** Events in memory with their large parts. */
  readonly bytes: number;
};

/** Large enough for hot documents to be written once for many events, small enough for a commit of some 10 ms. */
export const PART_LIMITS: PartLimits = { events: 1_000, documents: 1_000, bytes: 16 * 1024 * 1024 };

/** Entries that are folded and written together. */
export type Part = {
  readonly entries: readonly Entry[];
  /** Whether the entry fits in; a part takes its first, whatever its size. */
  hasRoomFor(entry: Entry): boolean;
  add(entry: Entry): void;
};

/** Makes an empty part. */
export const emptyPart = (limits: PartLimits): Part => {
  const entries: Entry[] = [];
  let width = 0;
  let bytes = 0;
  return {
    entries,
    hasRoomFor: (entry) =>
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

const slices = ({ model, keys }: Touched, size: number): readonly Touched[] =>
  Array.from({ length: Math.ceil(keys.length / size) }, (_, i) => ({
    model,
    keys: keys.slice(i * size, (i + 1) * size),
  }));

/**
 * An entry that touches very many documents, as entries of the same event that touch at most so many each. Documents
 * that several streams feed all come with the last: their guard is the place of the stream, which moves with that one.
 */
export const narrowed = (entry: Entry, size: number): readonly Entry[] => {
  if (entry.width <= size) return [entry];
  const own = entry.touched.filter(({ model }) => !isShared(model));
  const shared = entry.touched.filter(({ model }) => isShared(model));
  const pieces = own.flatMap((each) => slices(each, size)).map((each) => [each]);
  const last = pieces.pop() ?? [];
  return [...pieces, [...last, ...shared]].map((touched) => ({ ...entry, touched }));
};
