import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type BatchWriterOptions, batchWriter, type GatherLimits, WRITE_AT_ONCE, type Put } from './batch-writer.js';
import { type Entry, eventReader, type EventSources } from './event-reader.js';
import { folding, PoisonEntry } from './folding.js';
import { emptyEntryBatch, type EntryBatch, ENTRY_BATCH_LIMITS } from './entry-batch.js';
import type { ParkedStream } from './read-store.js';
import { unwrittenEvents } from './unwritten-events.js';
import { type ViewWriter, viewWriter, type ViewWriterOptions } from './view-writer.js';

/** Options of a projector. */
export type ProjectorOptions = EventSources &
  ViewWriterOptions &
  BatchWriterOptions & {
    /** While more events follow, what was folded is written once it has reached one of these limits. */
    readonly gathers?: GatherLimits;
    /** Bytes of documents, in stored form, that stay decoded between writes. */
    readonly cacheBytes?: number;
    /** Called with each event before it is folded; again when it is read again. */
    readonly onEntry?: (entry: Entry) => void;
  };

/** Projects events into the views, batch by batch. Callers must not overlap calls. */
export type Projector = {
  /** True when an event above `position()` is of one of the partitions, and above that partition's checkpoint. */
  wants(event: RecordedEvent): boolean;
  /**
   * Folds events, given in log order, writes the changes and moves the checkpoints to `to`, which must not be below the
   * last event. When more events follow (`hasNext`), it writes only once enough is gathered: a document that many
   * events touch is then encoded and written once for all of them. A call that failed may be repeated.
   *
   * @returns true when the checkpoints are at `to`.
   */
  take(events: readonly RecordedEvent[], to: bigint, hasNext?: boolean): Promise<boolean>;
  /** Writes what is gathered, and moves the checkpoints past it. A call that failed may be repeated. */
  flush(): Promise<void>;
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

/** In stored form; decoded documents take several times as much memory. */
const CACHE_BYTES = 8 * 1024 * 1024;

const GATHER_LIMITS: GatherLimits = { events: 10_000, documents: 4_000, bytes: 16 * 1024 * 1024 };

const endOf = ({ entries }: EntryBatch): bigint | undefined => entries.at(-1)?.event.position;

/** Reads events into batches of entries, and puts each; events of parked streams are left out. */
const batcher = (options: ProjectorOptions, views: ViewWriter) => {
  const { limits = ENTRY_BATCH_LIMITS, onEntry } = options;
  const read = eventReader(options);
  return async (events: readonly RecordedEvent[], to: bigint, put: Put): Promise<void> => {
    let batch = emptyEntryBatch(limits);
    for (const event of events) {
      const reading = views.isParked(event) ? undefined : read(event);
      const entry = reading instanceof Promise ? await reading : reading;
      if (!entry) continue;
      onEntry?.(entry);
      if (!batch.accepts(entry)) {
        await put(batch.entries, endOf(batch));
        batch = emptyEntryBatch(limits);
        if (views.isParked(event)) continue; // by the batch just written
      }
      batch.add(entry);
    }
    await put(batch.entries, to);
  };
};

/**
 * Creates a projector that starts at the stored checkpoints, which must be of this log; without any, it starts at the
 * beginning.
 */
export const projector = async (options: ProjectorOptions): Promise<Projector> => {
  const { readStore, gathers = GATHER_LIMITS } = options;
  const views = await viewWriter(options);
  const inBatches = batcher(options, views);
  const documents = folding(readStore, options.cacheBytes ?? CACHE_BYTES);
  const unwritten = unwrittenEvents();
  const { gather, writeAround } = batchWriter(views, documents, unwritten, options);
  const reached = { taken: 0n, folded: 0n };

  /** Folds what has been taken, and writes it once it is enough. */
  const project = async (enough: GatherLimits): Promise<void> => {
    const { taken: to, folded } = reached;
    reached.folded = 0n; // everything that is not written is folded again, unless this succeeds
    try {
      await inBatches(unwritten.after(folded), to, gather(enough));
    } catch (error) {
      documents.forget(); // changes that were folded and not written differ from the store
      if (!(error instanceof PoisonEntry)) throw error;
      await inBatches(unwritten.after(0n), to, writeAround);
    }
    reached.folded = to;
  };

  const take: Projector['take'] = async (events, to, hasNext = false) => {
    unwritten.add(events);
    reached.taken = to;
    await project(hasNext ? gathers : WRITE_AT_ONCE);
    return views.position() >= to;
  };

  const flush = async (): Promise<void> => {
    if (unwritten.size().events > 0) await project(WRITE_AT_ONCE);
  };

  const resume: Projector['resume'] = async (stream, pages) => {
    const parked = views.parked().find((each) => each.stream === stream);
    if (parked === undefined) return true;
    await flush();
    // Events above the checkpoint arrive with those of the other streams, in log order.
    const end = views.positionOf(stream);
    return views.resume(parked, async () => {
      for await (const page of pages) {
        const rest = page.filter(({ position }) => position >= parked.position && position <= end);
        const last = rest.at(-1);
        if (last) await inBatches(rest, last.position, writeAround);
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
