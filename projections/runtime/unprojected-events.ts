import type { RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { eventReader, type EventSources, onlyWanted } from './event-reader.js';
import { type Folding, folding, parkedBy } from './folding.js';
import type { ReadStore, StoredDocument } from './read-store.js';
import { viewPartitionOf } from './partitions.js';
import { storedProgress } from './stored-progress.js';

/** The documents of a stream to compute: the one with a key, or all whose keys have a prefix. */
export type WantedDocuments = {
  readonly stream: StreamName;
  /** The name of the collection. */
  readonly collection: string;
} & ({ readonly key: string } | { readonly under: string });

/** Computes documents from the events of a stream that have not been projected yet. */
export interface UnprojectedEvents {
  /**
   * Folds the events that are not yet projected over the stored documents, as the projector will, and stores nothing.
   *
   * @returns the documents that these events change; empty when the views are up to date.
   * @throws {StreamParked} when one of these events cannot be read or folded.
   * @throws {CorruptEvent} when the stream was deleted in the event store.
   * @throws {StoreUnavailable} when this takes too long or too much memory.
   */
  fold(wanted: WantedDocuments): Promise<readonly StoredDocument[]>;
}

/** Options for folding events that are not yet projected. */
export type UnprojectedOptions = EventSources & {
  readonly log: Pick<EventLog, 'logId' | 'readStream'>;
  /** The stored views; only read. */
  readonly readStore: ReadStore;
  /** Milliseconds, of any clock. */
  readonly now: () => number;
  /** Time limit of one fold, in milliseconds; checked after each page of events. */
  readonly limitMs: number;
};

/** Maximum number of changed documents that one fold holds in memory; checked after each page of events. */
const MAX_DOCUMENTS = 10_000;

/** Position up to which a stream has been projected to a view. */
const projectedUpTo = async (
  { log, readStore, models }: UnprojectedOptions,
  { stream, collection }: WantedDocuments,
): Promise<bigint> => {
  const start = (await storedProgress(readStore, { models })).startOf(collection, viewPartitionOf(stream));
  if (start?.checkpoint.logId !== log.logId) return 0n;
  const parked = (await readStore.parked()).find((each) => each.views === start.group && each.stream === stream);
  return parked === undefined ? start.checkpoint.position : parked.position - 1n;
};

const firstAfter = async (log: UnprojectedOptions['log'], stream: StreamName, position: bigint): Promise<bigint> => {
  for await (const page of log.readStream(stream, { direction: 'backwards' })) {
    const last = page.find((event) => event.position <= position);
    if (last !== undefined) return last.revision + 1n;
  }
  return 0n;
};

const isWantedBy =
  (wanted: WantedDocuments) =>
  (_collection: string, key: string): boolean =>
    'key' in wanted ? key === wanted.key : key.startsWith(wanted.under);

/** Reads and folds one event at a time, so that only one event's large contents are in memory. */
const foldPage = async (
  documents: Folding,
  page: readonly RecordedEvent[],
  read: ReturnType<typeof eventReader>,
  wanted: WantedDocuments,
): Promise<void> => {
  for (const event of page) {
    const entry = onlyWanted(await read(event), isWantedBy(wanted));
    if (entry) await documents.fold([entry]);
  }
};

/**
 * Creates the folds of events that are not yet projected. A fold reads the whole rest of the stream, so it must not
 * run on the thread that serves requests.
 */
export const unprojectedEvents = (options: UnprojectedOptions): UnprojectedEvents => {
  const { log, readStore, models, now, limitMs } = options;

  const fold = async (wanted: WantedDocuments): Promise<readonly StoredDocument[]> => {
    const until = now() + limitMs;
    const followed = models.filter(({ collection }) => collection.name === wanted.collection);
    // The checkpoint is read before the documents: a document that is newer by then skips the events that it already
    // contains.
    const from = await firstAfter(log, wanted.stream, await projectedUpTo(options, wanted));
    const read = eventReader({ ...options, models: followed });
    const documents = folding(readStore, 0); // never trimmed, so the size of its cache is of no effect
    for await (const page of log.readStream(wanted.stream, { from })) {
      await foldPage(documents, page, read, wanted);
      if (documents.pending().documents > MAX_DOCUMENTS)
        throw new StoreUnavailable(`more than ${MAX_DOCUMENTS} documents of ${wanted.stream} are not projected yet`);
      if (now() > until)
        throw new StoreUnavailable(
          `folding the events of ${wanted.stream} that are not projected yet takes more than ${limitMs} ms`,
        );
    }
    return documents.changes().map(({ document }) => document);
  };

  return {
    fold: (wanted) =>
      fold(wanted).catch((error: unknown) => {
        throw parkedBy(wanted.stream, error);
      }),
  };
};
