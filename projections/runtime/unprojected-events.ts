import type { RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, eventReader, type EventSources } from './event-reader.js';
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
  /** Time limit of one fold, in milliseconds. */
  readonly limitMs: number;
};

/** Maximum number of changed documents that one fold holds in memory. */
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

const isWanted = (wanted: WantedDocuments, key: string): boolean =>
  'key' in wanted ? key === wanted.key : key.startsWith(wanted.under);

const narrowedTo = (wanted: WantedDocuments, entry: Entry): Entry => {
  const touched = entry.touched.flatMap(({ model, keys }) => {
    const kept = keys.filter((key) => isWanted(wanted, key));
    return kept.length === 0 ? [] : [{ model, keys: kept }];
  });
  return { ...entry, touched };
};

/** Reads and folds one event at a time, so that only one event's large contents are in memory. */
const foldPage = async (
  documents: Folding,
  page: readonly RecordedEvent[],
  read: ReturnType<typeof eventReader>,
  wanted: WantedDocuments,
): Promise<void> => {
  for (const event of page) {
    const entry = await read(event);
    if (entry === undefined) continue;
    const narrowed = narrowedTo(wanted, entry);
    // An event that cannot be read has no `seen`; it is folded all the same, which throws its `PoisonEntry`.
    if (narrowed.touched.length > 0 || narrowed.seen === undefined) await documents.fold([narrowed]);
  }
};

/**
 * Creates the folder of events that are not yet projected. A fold reads the whole rest of the stream, so it must not
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
    const documents = folding(readStore, 0); // a cache of 0 bytes: only changed documents are held
    for await (const page of log.readStream(wanted.stream, { from })) {
      await foldPage(documents, page, read, wanted);
      if (documents.pending().documents > MAX_DOCUMENTS)
        throw new StoreUnavailable(`the views lack more than ${MAX_DOCUMENTS} documents of ${wanted.stream}`);
      if (now() > until) throw new StoreUnavailable(`the views are behind by more than ${limitMs} ms of folding`);
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
