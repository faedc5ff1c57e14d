import { ENTRY_BATCH_LIMITS, type EntryBatchLimits, narrowed } from './entry-batch.js';
import type { Entry } from './event-reader.js';
import { type Folding, PoisonEntry } from './folding.js';
import type { UnwrittenEvents } from './unwritten-events.js';
import type { ViewWriter } from './view-writer.js';

/** Limits of what is gathered before it is written: folded events, changed documents, and bytes of all events taken. */
export type GatherLimits = EntryBatchLimits;

/** Limits by which nothing is gathered: each batch is written by itself. */
export const WRITE_AT_ONCE: GatherLimits = { events: 0, documents: 0, bytes: 0 };

/** Options of the writer of batches. */
export type BatchWriterOptions = {
  /** `park`: a stream with an event that fails is parked. `stop`: the event fails the writer. */
  readonly onPoison: 'park' | 'stop';
  readonly limits?: EntryBatchLimits;
};

const failed = (entries: readonly Entry[], { position, message, cause }: PoisonEntry): Error => {
  const event = entries.find((each) => each.event.position === position)?.event;
  const failedEvent = event
    ? `${event.type} at position ${position} of stream ${event.stream}`
    : `position ${position}`;
  return new Error(`the views cannot process ${failedEvent}: ${message}`, { cause });
};

/** Takes a batch, and moves the checkpoints to `to` when it writes; without `to`, they stay where they are. */
export type Put = (entries: readonly Entry[], to?: bigint) => Promise<void>;

/** Folds and writes batches. */
export type BatchWriter = {
  /** Folds a batch, and writes all that is gathered once it is enough. */
  readonly gather: (enough: GatherLimits) => Put;
  /**
   * Folds and writes a batch. The stream of an entry that fails is parked, and its later entries are left out; the
   * others are written. With `onPoison: 'stop'` it throws. Nothing else may be gathered.
   */
  readonly writeAround: Put;
};

/** Creates a writer of batches. When `gather` fails, the caller must call `documents.forget()`. */
export const batchWriter = (
  views: ViewWriter,
  documents: Folding,
  unwritten: UnwrittenEvents,
  { onPoison, limits = ENTRY_BATCH_LIMITS }: BatchWriterOptions,
): BatchWriter => {
  let foldedEvents = 0;

  const isEnough = (enough: GatherLimits): boolean => {
    const [changed, held] = [documents.pending(), unwritten.size()];
    return (
      changed.documents >= enough.documents ||
      Math.max(changed.bytes, held.bytes) >= enough.bytes ||
      foldedEvents >= enough.events
    );
  };

  const foldAndWrite = async (entries: readonly Entry[], enough: GatherLimits, to?: bigint): Promise<void> => {
    await documents.fold(entries);
    foldedEvents += entries.length;
    if (!isEnough(enough)) return;
    await views.write(documents.changes(), to);
    foldedEvents = 0;
    documents.trim();
    if (to !== undefined) unwritten.writtenTo(to);
  };

  // An event that touches ten thousand documents is written in pieces; the checkpoint passes it with the last piece.
  const foldWide = async (entry: Entry, enough: GatherLimits, to?: bigint): Promise<void> => {
    const pieces = narrowed(entry, limits.documents);
    for (const [index, piece] of pieces.entries())
      await foldAndWrite([piece], enough, index === pieces.length - 1 ? to : undefined);
  };

  const gather =
    (enough: GatherLimits): Put =>
    async (entries, to) => {
      const [first] = entries;
      if (first && first.width > limits.documents) await foldWide(first, enough, to);
      else await foldAndWrite(entries, enough, to);
    };

  const write = gather(WRITE_AT_ONCE);

  const writeAround: Put = async (entries, to) => {
    try {
      await write(entries, to);
    } catch (error) {
      documents.forget(); // changes that were folded and not written differ from the store
      if (!(error instanceof PoisonEntry)) throw error;
      await writeOthers(entries, error, to);
    }
  };

  const writeOthers = async (entries: readonly Entry[], poison: PoisonEntry, to?: bigint): Promise<void> => {
    const index = entries.findIndex(({ event }) => event.position === poison.position);
    const entry = entries[index];
    if (onPoison === 'stop' || !entry) throw failed(entries, poison);
    const before = entries.slice(0, index);
    const last = before.at(-1);
    if (last) await writeAround(before, last.event.position);
    if (!views.isParked(entry.event)) await views.park(entry.event, poison.message);
    const rest = entries.slice(index + 1).filter(({ event }) => !views.isParked(event));
    await writeAround(rest, to);
  };

  return { gather, writeAround };
};
