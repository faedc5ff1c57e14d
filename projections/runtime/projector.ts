import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, eventReader, type EventSources } from './event-reader.js';
import { type Folding, folding, PoisonEntry } from './folding.js';
import {
  emptyEntryBatch,
  narrowed,
  type EntryBatch,
  ENTRY_BATCH_LIMITS,
  type EntryBatchLimits,
} from './entry-batch.js';
import type { ParkedStream } from './read-store.js';
import { type ViewWriter, viewWriter, type ViewWriterOptions } from './view-writer.js';

/** Options of a projector. */
export type ProjectorOptions = EventSources &
  ViewWriterOptions & {
    /** `park`: a stream with an event that fails is parked. `stop`: the event fails the projector. */
    readonly onPoison: 'park' | 'stop';
    readonly limits?: EntryBatchLimits;
    /**
     * Folded batches are written together once they have changed this much; by default each batch is written by itself.
     * Not for `onPoison: 'park'`: to go around a poison event, all unwritten entries must be at hand, and only those of
     * the current batch are.
     */
    readonly gathers?: Pending;
    /** Bytes of documents, in stored form, that stay decoded between writes. */
    readonly cacheBytes?: number;
    /** Called with each event that a read model follows, in order, before it is folded. */
    readonly onEntry?: (entry: Entry) => void;
  };

/** Number of changed documents, and bytes of the events that changed them. */
export type Pending = Pick<EntryBatchLimits, 'documents' | 'bytes'>;

/** Projects events into the views, batch by batch. Callers must not overlap calls. */
export type Projector = {
  /** True when the event belongs to one of the projector's partitions and is above that partition's checkpoint. */
  wants(event: RecordedEvent): boolean;
  /** Projects events, given in log order, and moves the checkpoints to `to`, which must not be below the last event. */
  take(events: readonly RecordedEvent[], to: bigint): Promise<void>;
  /** Writes the changes that have been gathered, and moves the checkpoints to `to`. */
  flush(to: bigint): Promise<void>;
  /**
   * Projects the rest of a parked stream, page by page, up to the checkpoint.
   *
   * @returns true when the stream has caught up; false when one of its events has parked it again.
   */
  resume(stream: StreamName, pages: AsyncIterable<readonly RecordedEvent[]>): Promise<boolean>;
  /** The lowest checkpoint over the projector's partitions. */
  position(): bigint;
  parked(): readonly ParkedStream[];
};

/** In stored form; decoded documents take about ten times as much memory. */
const CACHE_BYTES = 8 * 1024 * 1024;

const NOTHING: Pending = { documents: 0, bytes: 0 };

/** The error of a projector that stops. For an event of an earlier, gathered batch only the position is known. */
const failed = (entries: readonly Entry[], { position, message, cause }: PoisonEntry): Error => {
  const event = entries.find((each) => each.event.position === position)?.event;
  const what = event ? `${event.type} at position ${position} of stream ${event.stream}` : `position ${position}`;
  return new Error(`the views cannot process ${what}: ${message}`, { cause });
};

type BatchWriter = Pick<Projector, 'flush'> & {
  /** Without `to`, the checkpoints stay where they are. */
  readonly writeBatch: (entries: readonly Entry[], to?: bigint) => Promise<void>;
};

/** Folds and writes batches, and goes around entries that fail. */
const batchWriter = (
  views: ViewWriter,
  documents: Folding,
  options: Pick<ProjectorOptions, 'onPoison' | 'limits' | 'gathers'>,
): BatchWriter => {
  const { onPoison, limits = ENTRY_BATCH_LIMITS, gathers = NOTHING } = options;

  const write = async (to?: bigint): Promise<void> => {
    await views.write(documents.changes(), to);
    documents.trim();
  };

  const foldAndWrite = async (entries: readonly Entry[], to?: bigint): Promise<void> => {
    await documents.fold(entries);
    const pending = documents.pending();
    if (pending.documents >= gathers.documents || pending.bytes >= gathers.bytes) await write(to);
  };

  // An event that touches ten thousand documents is written in pieces; the checkpoint passes it with the last piece.
  const writeWide = async (entry: Entry, to?: bigint): Promise<void> => {
    const pieces = narrowed(entry, limits.documents);
    for (const [index, piece] of pieces.entries())
      await foldAndWrite([piece], index === pieces.length - 1 ? to : undefined);
  };

  const writeBatch = async (entries: readonly Entry[], to?: bigint): Promise<void> => {
    try {
      const [first] = entries;
      if (first && first.width > limits.documents) await writeWide(first, to);
      else await foldAndWrite(entries, to);
    } catch (error) {
      documents.forget(); // changes that were folded and not written differ from the store
      if (!(error instanceof PoisonEntry)) throw error;
      await writeAround(entries, error, to);
    }
  };

  const writeAround = async (entries: readonly Entry[], poison: PoisonEntry, to?: bigint): Promise<void> => {
    const index = entries.findIndex(({ event }) => event.position === poison.position);
    const entry = entries[index];
    if (onPoison === 'stop' || !entry) throw failed(entries, poison);
    const before = entries.slice(0, index);
    const last = before.at(-1);
    if (last) await writeBatch(before, last.event.position);
    if (!views.isParked(entry.event)) await views.park(entry.event, poison.message);
    const rest = entries.slice(index + 1).filter(({ event }) => !views.isParked(event));
    await writeBatch(rest, to);
  };

  const flush = async (to: bigint): Promise<void> => {
    try {
      await write(to);
    } catch (error) {
      throw error instanceof PoisonEntry ? failed([], error) : error;
    }
  };

  return { writeBatch, flush };
};

const endOf = ({ entries }: EntryBatch): bigint | undefined => entries.at(-1)?.event.position;

/**
 * Creates a projector that starts at the stored checkpoints, which must be of this log; without any, it starts at the
 * beginning.
 */
export const projector = async (options: ProjectorOptions): Promise<Projector> => {
  const { readStore, limits = ENTRY_BATCH_LIMITS, onEntry } = options;
  const views = await viewWriter(options);
  const read = eventReader(options);
  const documents = folding(readStore, options.cacheBytes ?? CACHE_BYTES);
  const { writeBatch, flush } = batchWriter(views, documents, options);

  const take = async (events: readonly RecordedEvent[], to: bigint): Promise<void> => {
    let batch = emptyEntryBatch(limits);
    for (const event of events) {
      const reading = views.isParked(event) ? undefined : read(event);
      const entry = reading instanceof Promise ? await reading : reading;
      if (!entry) continue;
      onEntry?.(entry);
      if (!batch.accepts(entry)) {
        await writeBatch(batch.entries, endOf(batch));
        batch = emptyEntryBatch(limits);
        if (views.isParked(event)) continue; // by the batch just written
      }
      batch.add(entry);
    }
    await writeBatch(batch.entries, to);
  };

  const resume = async (stream: StreamName, pages: AsyncIterable<readonly RecordedEvent[]>): Promise<boolean> => {
    const parked = views.parked().find((each) => each.stream === stream);
    if (parked === undefined) return true;
    // Events above the checkpoint arrive with those of the other streams, in log order.
    const end = views.positionOf(stream);
    return views.resume(parked, async () => {
      for await (const page of pages) {
        const rest = page.filter(({ position }) => position >= parked.position && position <= end);
        const last = rest.at(-1);
        if (last) await take(rest, last.position);
        if (last && views.isParked(last)) return;
      }
    });
  };

  return {
    take,
    flush,
    resume,
    wants: (event) => views.wants(event),
    position: () => views.position(),
    parked: () => views.parked(),
  };
};
