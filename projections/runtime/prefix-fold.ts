import { ownTimeOf, type RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, eventReader, type EventSources, onlyWanted } from './event-reader.js';
import { type Folding, folding, type HeldDocument, parkedBy, storedDocumentOf } from './folding.js';
import type { DocumentReads, ReadStore, StoredDocument } from './read-store.js';

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

/** Documents by the name of their collection, and by their key. */
export type HeldDocuments = ReadonlyMap<string, ReadonlyMap<string, HeldDocument>>;

/** The documents of a prefix. The caller closes it. */
export type FoldedPrefix = {
  /** The position of the last event of the prefix; 0n when it has none. */
  readonly position: bigint;
  /** True when the stream has events after the prefix, so that the prefix cannot change any more. */
  readonly isFinal: boolean;
  /** The keys of the documents, by the name of the collection. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
  /** All documents, while they are held in memory; `undefined` once they are in the store. */
  readonly held: () => HeldDocuments | undefined;
  /**
   * Encodes a held document.
   *
   * @throws {StreamParked} when it cannot be encoded.
   */
  readonly encoded: (document: HeldDocument) => StoredDocument;
  /**
   * Has all documents in the store, which answers queries from then on.
   *
   * @throws {StreamParked} when one of them cannot be encoded.
   */
  readonly toStore: () => Promise<DocumentReads>;
  readonly close: () => Promise<void>;
};

/** A store that is filled once; `finish` makes its indexes after the last write. */
export type FilledStore = ReadStore & { finish(): Promise<void> };

/** The read models to fold, and their sources. */
export type PrefixSources = EventSources & {
  readonly log: Pick<EventLog, 'readStream'>;
  /**
   * Opens an empty store, prepared for the read models, for more documents than are held in memory, or for a query that
   * only a store can answer.
   */
  readonly openStore: () => Promise<FilledStore>;
};

/** The limits of a fold's memory. */
export type FoldMemory = {
  /** Limits of the changed documents, and of the bytes of their events, before they are written to the store. */
  readonly maxDocuments: number;
  readonly maxEventBytes: number;
  /** Bytes of written documents, in stored form, that stay decoded in memory. */
  readonly cacheBytes: number;
  /** At the end of a fold that has written none, documents whose events have at most this many bytes stay in memory. */
  readonly heldEventBytes: number;
};

/**
 * Enough to hold 20,000 nodes of 60,000 events. Of a larger prefix, a document is mostly written once, although its
 * events are far apart in an execution whose nodes run at the same time.
 */
const MEMORY: FoldMemory = {
  maxDocuments: 25_000,
  maxEventBytes: 48 * 1024 * 1024,
  cacheBytes: 48 * 1024 * 1024,
  heldEventBytes: 32 * 1024 * 1024,
};

const isAfter = (event: RecordedEvent, moment: Moment | undefined): boolean => {
  if (moment === undefined) return false;
  return 'position' in moment ? event.position > moment.position : (ownTimeOf(event) ?? -Infinity) > moment.timeMs;
};

/**
 * The index of the first event after a moment, or -1. Positions and times ascend in a stream, so the last event of a
 * page tells whether the moment is in the page. An event of another program, or with metadata that cannot be read, has
 * no time and counts as not after the moment: the page that it ends is folded whole.
 */
const endIn = (page: readonly RecordedEvent[], moment: Moment | undefined): number => {
  const last = page.at(-1);
  return last && isAfter(last, moment) ? page.findIndex((event) => isAfter(event, moment)) : -1;
};

const isFull = ({ documents, bytes }: ReturnType<Folding['pending']>, memory: FoldMemory): boolean =>
  documents > memory.maxDocuments || bytes > memory.maxEventBytes;

/** The keys of documents, by the name of their collection. */
type Keys = ReadonlyMap<string, Set<string>>;

type Encode = FoldedPrefix['encoded'];

const encoding =
  (stream: StreamName): Encode =>
  (document) => {
    try {
      return storedDocumentOf(document);
    } catch (error) {
      throw parkedBy(stream, error);
    }
  };

/** A folded prefix apart from its end: its documents are in memory, or in a temporary store when they were too many. */
type Documents = Omit<FoldedPrefix, 'position' | 'isFinal' | 'encoded'>;

const inStore = (store: FilledStore, keys: Keys): Documents => ({
  keys,
  held: () => undefined,
  toStore: () => Promise.resolve(store),
  close: () => store.close(),
});

const byCollection = (documents: readonly HeldDocument[]): HeldDocuments => {
  const held = new Map<string, Map<string, HeldDocument>>();
  for (const each of documents) {
    const { name } = each.model.collection;
    const ofCollection = held.get(name) ?? new Map<string, HeldDocument>();
    held.set(name, ofCollection.set(each.key, each));
  }
  return held;
};

const filled = async (
  openStore: PrefixSources['openStore'],
  held: HeldDocuments,
  encode: Encode,
): Promise<FilledStore> => {
  const documents = [...held.values()].flatMap((each) => [...each.values()]);
  const store = await openStore();
  try {
    const writes = documents.map((each) => ({ collection: each.model.collection, document: encode(each) }));
    await store.write({ documents: writes, checkpoints: [] });
    await store.finish();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
};

const inMemory = (
  openStore: PrefixSources['openStore'],
  documents: readonly HeldDocument[],
  encode: Encode,
): Documents => {
  let held: HeldDocuments | undefined = byCollection(documents);
  let store: Promise<FilledStore> | undefined;
  const fill = async (all: HeldDocuments): Promise<FilledStore> => {
    try {
      const opened = await filled(openStore, all, encode);
      held = undefined;
      return opened;
    } catch (error) {
      store = undefined; // the next query tries again
      throw error;
    }
  };
  return {
    keys: new Map([...held].map(([name, each]) => [name, new Set(each.keys())])),
    held: () => held,
    toStore: () => (store ??= fill(held ?? new Map())),
    close: async () => (await store)?.close(),
  };
};

/** Folds entries, and writes documents to a store, opened when it is first needed, to bound the memory of the fold. */
const spilling = ({ models, openStore }: PrefixSources, memory: FoldMemory, encode: Encode) => {
  const written: Keys = new Map(models.map(({ collection }) => [collection.name, new Set<string>()]));
  let opened: Promise<FilledStore> | undefined;
  const store = (): Promise<FilledStore> => (opened ??= openStore());
  // Reads only what was written: a store that was empty has nothing else.
  const getMany: ReadStore['getMany'] = async (collection, keys) => {
    const foldedKeys = keys.filter((key) => written.get(collection.name)?.has(key) === true);
    return foldedKeys.length === 0 ? [] : (await store()).getMany(collection, foldedKeys);
  };
  const documents = folding({ getMany }, memory.cacheBytes);
  const write = async (): Promise<void> => {
    const changes = documents.changes();
    for (const { collection, document } of changes) written.get(collection.name)?.add(document.key);
    await (await store()).write({ documents: changes, checkpoints: [] });
    documents.trim();
  };
  return {
    fold: async (entries: readonly Entry[]): Promise<void> => {
      await documents.fold(entries);
      if (isFull(documents.pending(), memory)) await write();
    },
    result: async (): Promise<Documents> => {
      if (!opened && documents.pending().bytes <= memory.heldEventBytes)
        return inMemory(openStore, documents.held(), encode);
      await write();
      await (await store()).finish();
      return inStore(await store(), written);
    },
    close: async (): Promise<void> => (await opened)?.close(),
  };
};

/**
 * Folds a prefix of a stream, by the same reader, folds and documents as the projector.
 *
 * @throws {StreamParked} when an event of it cannot be read or folded.
 * @throws {CorruptEvent} when the stream was deleted in the event store.
 * @throws {StoreUnavailable} when the log cannot be read.
 */
export const foldPrefix = async (
  sources: PrefixSources,
  { stream, until, isWanted = () => true }: Prefix,
  memory: FoldMemory = MEMORY,
): Promise<FoldedPrefix> => {
  const read = eventReader(sources);
  const encoded = encoding(stream);
  const documents = spilling(sources, memory, encoded);
  let position = 0n;
  let isFinal = false;

  const take = async (events: readonly RecordedEvent[]): Promise<void> => {
    const entries: Entry[] = [];
    for (const event of events) {
      const reading = read(event);
      const entry = onlyWanted(reading instanceof Promise ? await reading : reading, isWanted);
      if (entry) entries.push(entry);
    }
    await documents.fold(entries);
    position = events.at(-1)?.position ?? position;
  };

  try {
    for await (const page of sources.log.readStream(stream)) {
      const end = endIn(page, until);
      await take(end < 0 ? page : page.slice(0, end));
      isFinal = end >= 0;
      if (isFinal) break;
    }
    return { position, isFinal, encoded, ...(await documents.result()) };
  } catch (error) {
    await documents.close();
    throw parkedBy(stream, error);
  }
};
