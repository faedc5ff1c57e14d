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
  /** The keys of the documents, by the name of the collection. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
};

/** The read models to fold, their sources, and an empty store for their documents, prepared for them. */
export type PrefixSources = EventSources & {
  readonly log: Pick<EventLog, 'readStream'>;
  readonly store: ReadStore;
};

/** The limits of a fold's memory. */
export type FoldMemory = {
  /** Changed documents, and the bytes of their events, before they are written to the store. */
  readonly maxDocuments: number;
  readonly maxEventBytes: number;
  /** Documents that are kept when they are written. */
  readonly cacheBytes: number;
};

/**
 * Enough for 20,000 nodes of 60,000 events: a document is then written once, although its events are far apart in an
 * execution whose nodes run at the same time.
 */
const MEMORY: FoldMemory = { maxDocuments: 25_000, maxEventBytes: 48 * 1024 * 1024, cacheBytes: 48 * 1024 * 1024 };

const isAfter = (event: RecordedEvent, moment: Moment | undefined): boolean => {
  if (moment === undefined) return false;
  return 'position' in moment ? event.position > moment.position : metadataOf(event).recordedAtMs > moment.timeMs;
};

/** The index of the first event after a moment, or -1. Positions and times ascend, so mostly the last event tells. */
const endIn = (page: readonly RecordedEvent[], moment: Moment | undefined): number => {
  const last = page.at(-1);
  return last && isAfter(last, moment) ? page.findIndex((event) => isAfter(event, moment)) : -1;
};

const isFull = ({ documents, bytes }: ReturnType<Folding['pending']>, memory: FoldMemory): boolean =>
  documents > memory.maxDocuments || bytes > memory.maxEventBytes;

const narrowed = (entry: Entry, isWanted: NonNullable<Prefix['isWanted']>): Entry => ({
  ...entry,
  touched: entry.touched.flatMap(({ model, keys }) => {
    const kept = keys.filter((key) => isWanted(model.collection.name, key));
    return kept.length === 0 ? [] : [{ model, keys: kept }];
  }),
});

/** The keys of the documents that were written, by collection. */
type Written = ReadonlyMap<string, Set<string>>;

const write = async (store: ReadStore, documents: Folding, written: Written): Promise<void> => {
  const changes = documents.changes();
  for (const { collection, document } of changes) written.get(collection.name)?.add(document.key);
  await store.write({ documents: changes, checkpoints: [] });
  documents.trim();
};

/** Reads only what was written: a store that was empty has nothing else. */
const readingBack = (store: ReadStore, written: Written): Pick<ReadStore, 'getMany'> => ({
  getMany: (collection, keys) => {
    const there = keys.filter((key) => written.get(collection.name)?.has(key) === true);
    return there.length === 0 ? Promise.resolve([]) : store.getMany(collection, there);
  },
});

/**
 * Folds a prefix of a stream into a store, by the same reader, folds and documents as the projector.
 *
 * @throws {StoreUnavailable} when an event of it cannot be read or folded, or the log cannot be read.
 */
export const foldPrefix = async (
  sources: PrefixSources,
  prefix: Prefix,
  memory: FoldMemory = MEMORY,
): Promise<FoldedPrefix> => {
  const { log, store } = sources;
  const { until, isWanted } = prefix;
  const read = eventReader(sources);
  const keys = new Map(sources.models.map(({ collection }) => [collection.name, new Set<string>()]));
  const documents = folding(readingBack(store, keys), memory.cacheBytes);
  let position = 0n;
  let isClosed = false;

  const wantedOf = (entry: Entry | undefined): readonly Entry[] => {
    const wanted = entry && isWanted ? narrowed(entry, isWanted) : entry;
    return wanted && (wanted.touched.length > 0 || !wanted.seen) ? [wanted] : [];
  };
  const take = async (events: readonly RecordedEvent[]): Promise<void> => {
    const entries: Entry[] = [];
    for (const event of events) {
      const reading = read(event);
      entries.push(...wantedOf(reading instanceof Promise ? await reading : reading));
    }
    await documents.fold(entries);
    if (isFull(documents.pending(), memory)) await write(store, documents, keys);
    position = events.at(-1)?.position ?? position;
  };

  try {
    for await (const page of log.readStream(prefix.stream)) {
      const end = endIn(page, until);
      await take(end < 0 ? page : page.slice(0, end));
      isClosed = end >= 0;
      if (isClosed) break;
    }
    await write(store, documents, keys);
  } catch (error) {
    throw error instanceof PoisonEntry ? new StoreUnavailable(error.message, error) : error;
  }
  return { position, isClosed, keys };
};
