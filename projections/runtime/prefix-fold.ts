import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, eventReader, type EventSources } from './event-reader.js';
import { type Folding, folding, PoisonEntry } from './folding.js';
import type { ReadStore } from './read-store.js';

/** A moment of the past: all events up to a position, or all that were recorded up to a time, in ms since 1970. */
export type Moment = { readonly position: bigint } | { readonly timeMs: number };

/** The prefix of a stream to fold. */
export type Prefix = {
  readonly stream: StreamName;
  /** By default the whole stream as it is now. */
  readonly until: Moment | undefined;
  /** Selects the documents to fold, by collection and key; by default all. */
  readonly isWanted?: (collection: string, key: string) => boolean;
};

/** The documents of a prefix. */
export type FoldedPrefix = {
  /** The position of the last event of the prefix; 0n when it has none. */
  readonly position: bigint;
  /** True when the stream has events after the prefix, so that the prefix cannot change any more. */
  readonly isClosed: boolean;
  /** The keys that events touch, by the name of the collection. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
};

/** The read models to fold, their sources, and an empty store for their documents, prepared for them. */
export type PrefixSources = EventSources & {
  readonly log: Pick<EventLog, 'readStream'>;
  readonly store: ReadStore;
};

/** Changed documents in memory before they are written to the store, and the bytes of documents that are cached. */
const MAX_PENDING = 5_000;
const CACHE_BYTES = 16 * 1024 * 1024;

const isAfter = (event: RecordedEvent, moment: Moment | undefined): boolean => {
  if (moment === undefined) return false;
  return 'position' in moment ? event.position > moment.position : metadataOf(event).recordedAtMs > moment.timeMs;
};

const narrowed = (entry: Entry, isWanted: NonNullable<Prefix['isWanted']>): Entry => ({
  ...entry,
  touched: entry.touched.flatMap(({ model, keys }) => {
    const kept = keys.filter((key) => isWanted(model.collection.name, key));
    return kept.length === 0 ? [] : [{ model, keys: kept }];
  }),
});

const write = async (store: ReadStore, documents: Folding): Promise<void> => {
  await store.write({ documents: documents.changes(), checkpoints: [] });
  documents.trim();
};

/**
 * Folds a prefix of a stream into a store, by the same reader, folds and documents as the projector.
 *
 * @throws {StoreUnavailable} when an event of it cannot be read or folded, or the log cannot be read.
 */
export const foldPrefix = async (sources: PrefixSources, prefix: Prefix): Promise<FoldedPrefix> => {
  const { log, store } = sources;
  const { until, isWanted = () => true } = prefix;
  const read = eventReader(sources);
  const documents = folding(store, CACHE_BYTES);
  const keys = new Map(sources.models.map(({ collection }) => [collection.name, new Set<string>()]));
  let position = 0n;
  let isClosed = false;

  const entryOf = async (event: RecordedEvent): Promise<Entry | undefined> => {
    const entry = await read(event);
    const wanted = entry && narrowed(entry, isWanted);
    for (const { model, keys: some } of wanted?.touched ?? [])
      for (const key of some) keys.get(model.collection.name)?.add(key);
    return wanted;
  };
  const take = async (events: readonly RecordedEvent[]): Promise<void> => {
    const entries: Entry[] = [];
    for (const event of events) {
      const entry = await entryOf(event);
      if (entry && (entry.touched.length > 0 || !entry.seen)) entries.push(entry);
    }
    await documents.fold(entries);
    if (documents.pending().documents > MAX_PENDING) await write(store, documents);
    position = events.at(-1)?.position ?? position;
  };

  try {
    for await (const page of log.readStream(prefix.stream)) {
      const end = page.findIndex((event) => isAfter(event, until));
      await take(end < 0 ? page : page.slice(0, end));
      isClosed = end >= 0;
      if (isClosed) break;
    }
    await write(store, documents);
  } catch (error) {
    throw error instanceof PoisonEntry ? new StoreUnavailable(error.message, error) : error;
  }
  return { position, isClosed, keys };
};
